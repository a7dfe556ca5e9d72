/// The destination of frames during a pull: the caller's buffer, and the bytes that did not fit.
///
/// nghttp2 lends headers and control frames from its own memory until the next call of it. DATA is copied
/// directly from the message body, so it is copied only once. The rest of a DATA frame waits in `spill`.
@safe struct FrameOutput {
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    private var filled = 0
    private var lentBytes: UnsafeRawBufferPointer = unsafe .init(start: nil, count: 0)
    private var spill: UnsafeMutableRawPointer?
    private var spillStart = 0
    private var spillEnd = 0

    /// The most body bytes that nghttp2 requests at once, even if the peer's SETTINGS_MAX_FRAME_SIZE is
    /// larger.
    static let dataBytesMax = 16_384

    var availableBytes: Int { capacity - filled }
    var isEmpty: Bool { unsafe lentBytes.isEmpty && spillStart == spillEnd }

    /// Begins a pull. Bytes from the last pull go first.
    mutating func begin(writingTo buffer: UnsafeMutableRawBufferPointer) {
        unsafe base = buffer.baseAddress
        capacity = buffer.count
        filled = 0
        spillStart += unsafe copy(UnsafeRawPointer(spill), from: spillStart, count: spillEnd - spillStart)
        if spillStart == spillEnd { copyLentBytes() }
    }

    mutating func finish() -> Int {
        unsafe base = nil
        capacity = 0
        return filled
    }

    /// Lends bytes that are valid until the next call of nghttp2, which follows only after all are taken.
    mutating func lend(frame: UnsafeRawBufferPointer) {
        unsafe lentBytes = frame
        if spillStart == spillEnd { copyLentBytes() }
    }

    /// Writes one DATA frame. Returns false if the previous one still waits in the spill.
    mutating func writeData(header: UnsafePointer<UInt8>, body: UnsafeRawPointer?, count: Int) -> Bool {
        guard spillStart == spillEnd, count <= FrameOutput.dataBytesMax else { return false }
        spillStart = 0
        spillEnd = 0
        unsafe copyOrSpill(UnsafeRawPointer(header), count: FrameHeader.byteCount)
        unsafe copyOrSpill(body, count: count)
        return true
    }

    mutating func free() { unsafe spill?.deallocate() }

    private mutating func copyLentBytes() {
        let taken = unsafe copy(lentBytes.baseAddress, from: 0, count: lentBytes.count)
        unsafe lentBytes = UnsafeRawBufferPointer(rebasing: lentBytes[taken...])
    }

    private mutating func copyOrSpill(_ source: UnsafeRawPointer?, count: Int) {
        let taken = unsafe copy(source, from: 0, count: count)
        guard taken < count, let source = unsafe source else { return }
        if unsafe spill == nil {
            unsafe spill = .allocate(
                byteCount: FrameHeader.byteCount + FrameOutput.dataBytesMax, alignment: 16)
        }
        unsafe (spill! + spillEnd).copyMemory(from: source + taken, byteCount: count - taken)
        spillEnd += count - taken
    }

    /// Copies as many bytes as fit. Returns the number copied.
    private mutating func copy(_ source: UnsafeRawPointer?, from offset: Int, count: Int) -> Int {
        let taken = min(count, availableBytes)
        guard taken > 0, let source = unsafe source, let base = unsafe base else { return 0 }
        unsafe (base + filled).copyMemory(from: source + offset, byteCount: taken)
        filled += taken
        return taken
    }
}
