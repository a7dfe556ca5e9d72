/// The destination of frames during a pull, which is the caller's buffer. If the last frame does not fit, it is written
/// to `spill`. The buffer then gets its first part, and the next pull begins with the rest.
@safe struct FrameWriter {
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    /// The bytes written to the caller's buffer.
    private var filled = 0
    /// Memory for one frame. The bytes from `spillStart` to `spillEnd` wait for the next pull.
    private let spill: UnsafeMutableRawPointer
    private var spillStart = 0
    private var spillEnd = 0
    /// Whether the current frame is written to the spill.
    private var isSpilling = false

    /// The longest payload that is sent, even if the peer's SETTINGS allow more.
    static let payloadBytesMax = 16_384
    static let frameBytesMax = FrameHeader.byteCount + payloadBytesMax

    init() { unsafe spill = .allocate(byteCount: FrameWriter.frameBytesMax, alignment: 16) }

    func free() { unsafe spill.deallocate() }

    /// Whether no frame can begin.
    var isFull: Bool { filled == capacity }
    /// Whether no rest of a frame waits for the next pull.
    var isEmpty: Bool { spillStart == spillEnd }

    /// Begins a pull into this buffer.
    mutating func begin(writingTo buffer: UnsafeMutableRawBufferPointer) {
        unsafe base = buffer.baseAddress
        capacity = buffer.count
        filled = 0
        drain()
    }

    /// Ends the pull. Returns the number of bytes in the caller's buffer.
    mutating func finish() -> Int {
        unsafe base = nil
        capacity = 0
        defer { filled = 0 }
        return filled
    }

    /// Returns the memory for a frame of at most `count` bytes. The caller writes it, and then calls `commit`
    /// with its length.
    mutating func reserve(byteCount count: Int) -> UnsafeMutableRawPointer {
        precondition(!isFull && isEmpty && count <= FrameWriter.frameBytesMax, "no frame can begin here")
        isSpilling = count > capacity - filled
        return unsafe isSpilling ? spill : base! + filled
    }

    mutating func commit(byteCount count: Int) {
        guard isSpilling else {
            filled += count
            return
        }
        spillStart = 0
        spillEnd = count
        drain()
    }

    /// Copies as many bytes as fit, for bytes that may be split. Returns the number copied.
    mutating func copy(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(bytes.count, capacity - filled)
        guard count > 0, let base = unsafe base, let source = bytes.baseAddress else { return 0 }
        unsafe (base + filled).copyMemory(from: source, byteCount: count)
        filled += count
        return count
    }

    /// Moves waiting bytes of the spill to the caller's buffer, as many as fit.
    private mutating func drain() {
        guard spillStart < spillEnd else { return }
        spillStart += unsafe copy(
            UnsafeRawBufferPointer(start: spill + spillStart, count: spillEnd - spillStart))
    }
}
