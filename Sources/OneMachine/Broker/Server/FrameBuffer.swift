/// The buffer of one connection, with the bytes of requests that are incomplete or must wait.
///
/// On the wire, each request is a frame: its length in four bytes, and then its bytes. Complete frames are
/// handled in the received bytes, and only the rest is copied to the buffer. The memory grows with the
/// received bytes and never because of a length field.
@safe
struct FrameBuffer: ~Copyable {
    /// The memory of a connection that holds no large request.
    static let restingByteCount = 64 * 1024
    /// Size of the length in front of a request.
    static let lengthFieldSize = 4

    /// The result of the search for a frame.
    enum FrameResult: Equatable {
        /// A whole request lies in this range.
        case frame(Range<Int>)
        case incomplete
        /// The length is negative or above the limit: the connection cannot be understood further.
        case badLength(Int)
    }

    /// Returns the frame that begins at `start`.
    static func next(in bytes: UnsafeRawBufferPointer, from start: Int, bytesMax: Int) -> FrameResult {
        guard bytes.count - start >= lengthFieldSize else { return .incomplete }
        let lengthField = unsafe bytes.loadUnaligned(fromByteOffset: start, as: Int32.self)
        let length = Int(Int32(bigEndian: lengthField))
        guard length >= 0, length <= bytesMax else { return .badLength(length) }
        let begin = start + lengthFieldSize
        guard bytes.count - begin >= length else { return .incomplete }
        return .frame(begin..<begin + length)
    }

    private var memory: UnsafeMutableRawPointer
    private(set) var capacity: Int
    // The positions of the kept bytes in the memory.
    private var start = 0
    private var end = 0

    init() {
        capacity = Self.restingByteCount
        unsafe memory = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { unsafe memory.deallocate() }

    var count: Int { end - start }

    /// The kept bytes, valid until the next call.
    @unsafe var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: memory + start, count: count)
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        makeRoom(for: bytes.count)
        unsafe (memory + end).copyMemory(from: source, byteCount: bytes.count)
        end += bytes.count
    }

    /// Removes handled bytes from the front.
    mutating func consume(_ byteCount: Int) {
        precondition(byteCount <= count, "more consumed than there was")
        start += byteCount
        guard start == end else { return }
        start = 0
        end = 0
    }

    /// Releases the memory of a large request if the buffer is empty.
    mutating func releaseMemory() {
        guard count == 0, capacity > Self.restingByteCount else { return }
        resize(to: Self.restingByteCount)
    }

    /// Makes space for more bytes behind the kept ones. Moves the kept bytes to the front if that is cheap,
    /// else doubles the memory.
    private mutating func makeRoom(for extra: Int) {
        guard end + extra > capacity else { return }
        if count + extra <= capacity, start >= capacity / 2 {
            unsafe memory.copyMemory(from: memory + start, byteCount: count)
            end -= start
            start = 0
        } else {
            resize(to: max(capacity * 2, count + extra))
        }
    }

    private mutating func resize(to newCapacity: Int) {
        let newMemory = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
        unsafe newMemory.copyMemory(from: memory + start, byteCount: count)
        unsafe memory.deallocate()
        unsafe memory = newMemory
        capacity = newCapacity
        end -= start
        start = 0
    }
}
