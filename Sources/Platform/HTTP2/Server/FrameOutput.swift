/// The destination of nghttp2's frames during a pull: the caller's buffer, and the bytes that do not fit,
/// which wait for the next pull.
///
/// Headers and control frames lie in nghttp2's memory and are valid until its next call, so their rest waits
/// there (`lentBytes`). DATA is copied directly from the message body, only once. The rest of a DATA frame
/// waits in `spill`.
@safe struct FrameOutput {
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    /// The bytes written to the caller's buffer.
    private var filled = 0
    /// The rest of a frame in nghttp2's memory.
    private var lentBytes: UnsafeRawBufferPointer = unsafe .init(start: nil, count: 0)
    /// Memory for one DATA frame, allocated at first use. The bytes from `spillStart` to `spillEnd` wait.
    private var spill: UnsafeMutableRawPointer?
    private var spillStart = 0
    private var spillEnd = 0

    /// The largest number of body bytes that nghttp2 puts into a frame, even if the peer's
    /// SETTINGS_MAX_FRAME_SIZE is larger.
    static let dataBytesMax = 16_384

    /// The free bytes of the caller's buffer.
    var availableBytes: Int { capacity - filled }
    /// Whether no bytes wait.
    var isEmpty: Bool { unsafe lentBytes.isEmpty && spillStart == spillEnd }

    /// Begins a pull. Bytes from the last pull go first.
    mutating func begin(writingTo buffer: UnsafeMutableRawBufferPointer) {
        unsafe base = buffer.baseAddress
        capacity = buffer.count
        filled = 0
        spillStart += unsafe copy(UnsafeRawPointer(spill), from: spillStart, count: spillEnd - spillStart)
        if spillStart == spillEnd { copyLentBytes() }
    }

    /// Ends the pull. Returns the number of bytes in the caller's buffer.
    mutating func finish() -> Int {
        unsafe base = nil
        capacity = 0
        return filled
    }

    /// Takes a frame that is valid until the next call of nghttp2. That call follows only after all bytes
    /// were copied.
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

    /// Copies lent bytes, as many as fit.
    private mutating func copyLentBytes() {
        let copiedCount = unsafe copy(lentBytes.baseAddress, from: 0, count: lentBytes.count)
        unsafe lentBytes = UnsafeRawBufferPointer(rebasing: lentBytes[copiedCount...])
    }

    /// Copies bytes of a DATA frame. Bytes that do not fit go into the spill.
    private mutating func copyOrSpill(_ source: UnsafeRawPointer?, count: Int) {
        let copiedCount = unsafe copy(source, from: 0, count: count)
        guard copiedCount < count, let source = unsafe source else { return }
        if unsafe spill == nil {
            unsafe spill = .allocate(
                byteCount: FrameHeader.byteCount + FrameOutput.dataBytesMax, alignment: 16)
        }
        unsafe (spill! + spillEnd).copyMemory(from: source + copiedCount, byteCount: count - copiedCount)
        spillEnd += count - copiedCount
    }

    /// Copies as many bytes as fit. Returns the number copied.
    private mutating func copy(_ source: UnsafeRawPointer?, from offset: Int, count: Int) -> Int {
        let copiedCount = min(count, availableBytes)
        guard copiedCount > 0, let source = unsafe source, let base = unsafe base else { return 0 }
        unsafe (base + filled).copyMemory(from: source + offset, byteCount: copiedCount)
        filled += copiedCount
        return copiedCount
    }
}
