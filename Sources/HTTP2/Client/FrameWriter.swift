/// Where a client's frames go while it is pulled: the caller's buffer, and for the frame at its end, which does
/// not fit, a spill that the next call begins with.
@safe struct FrameWriter {
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    private var filled = 0
    private let spill: UnsafeMutableRawPointer
    private var spillStart = 0
    private var spillEnd = 0
    /// The present frame is written into the spill.
    private var isSpilling = false

    /// The longest frame that is sent, whatever the peer's SETTINGS allow.
    static let payloadBytesMax = 16_384
    static let frameBytesMax = FrameHeader.bytes + payloadBytesMax

    init() { unsafe spill = .allocate(byteCount: FrameWriter.frameBytesMax, alignment: 16) }

    func free() { unsafe spill.deallocate() }

    /// No frame can begin.
    var isFull: Bool { filled == capacity }
    /// Nothing waits for the next call.
    var isEmpty: Bool { spillStart == spillEnd }

    mutating func open(_ buffer: UnsafeMutableRawBufferPointer) {
        unsafe base = buffer.baseAddress
        capacity = buffer.count
        filled = 0
        drain()
    }

    mutating func close() -> Int {
        unsafe base = nil
        capacity = 0
        defer { filled = 0 }
        return filled
    }

    /// Room for a frame of at most so many bytes, of which `wrote` tells the length.
    mutating func place(_ count: Int) -> UnsafeMutableRawPointer {
        precondition(!isFull && isEmpty && count <= FrameWriter.frameBytesMax, "no frame can begin here")
        isSpilling = count > capacity - filled
        return unsafe isSpilling ? spill : base! + filled
    }

    mutating func wrote(_ count: Int) {
        guard isSpilling else {
            filled += count
            return
        }
        spillStart = 0
        spillEnd = count
        drain()
    }

    /// Gives out what fits of bytes that need not go in one piece, and says how much that was.
    mutating func copy(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(bytes.count, capacity - filled)
        guard count > 0, let base = unsafe base, let source = bytes.baseAddress else { return 0 }
        unsafe (base + filled).copyMemory(from: source, byteCount: count)
        filled += count
        return count
    }

    private mutating func drain() {
        guard spillStart < spillEnd else { return }
        spillStart += unsafe copy(
            UnsafeRawBufferPointer(start: spill + spillStart, count: spillEnd - spillStart))
    }
}
