/// The buffer of one connection, which cuts bytes into requests. It keeps requests that are incomplete or
/// must wait.
///
/// Complete requests are handled in the received bytes, and only the rest is copied. The memory grows
/// with the received bytes and never because of a length field.
@safe
struct FrameBuffer: ~Copyable {
    static let restingBytes = 64 * 1024
    static let lengthBytes = 4

    enum FrameResult: Equatable {
        /// A whole request lies in this range.
        case frame(Range<Int>)
        case incomplete
        /// The length is negative or above the limit: the connection cannot be understood further.
        case badLength(Int)
    }

    /// Looks for the request that begins at `start`.
    static func next(in bytes: UnsafeRawBufferPointer, from start: Int, bytesMax: Int) -> FrameResult {
        guard bytes.count - start >= lengthBytes else { return .incomplete }
        let claimed = unsafe bytes.loadUnaligned(fromByteOffset: start, as: Int32.self)
        let length = Int(Int32(bigEndian: claimed))
        guard length >= 0, length <= bytesMax else { return .badLength(length) }
        let begin = start + lengthBytes
        guard bytes.count - begin >= length else { return .incomplete }
        return .frame(begin..<begin + length)
    }

    private var memory: UnsafeMutableRawPointer
    private(set) var capacity: Int
    private var start = 0
    private var end = 0

    init() {
        capacity = Self.restingBytes
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

    mutating func consume(_ bytes: Int) {
        precondition(bytes <= count, "more consumed than there was")
        start += bytes
        guard start == end else { return }
        start = 0
        end = 0
    }

    /// Gives the memory of a large request back once the buffer is empty.
    mutating func releaseMemory() {
        guard count == 0, capacity > Self.restingBytes else { return }
        resize(to: Self.restingBytes)
    }

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

    private mutating func resize(to wanted: Int) {
        let moved = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
        unsafe moved.copyMemory(from: memory + start, byteCount: count)
        unsafe memory.deallocate()
        unsafe memory = moved
        capacity = wanted
        end -= start
        start = 0
    }
}
