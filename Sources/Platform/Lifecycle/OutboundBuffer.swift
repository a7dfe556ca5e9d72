internal import Glibc

/// The bytes that a connection has not sent yet, in one block of memory: from offset `head` to offset `tail`.
/// New bytes are added at the tail, and the socket takes bytes from the head.
@safe struct OutboundBuffer: ~Copyable {
    private static let capacityMin = 16 * 1024
    /// An empty buffer above this size frees its memory, because thousands of connections are idle.
    private static let keptCapacityMax = 64 * 1024

    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private var head = 0
    private var tail = 0

    init() {}

    deinit { unsafe free(memory) }

    var count: Int { tail - head }
    var isEmpty: Bool { head == tail }

    var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: unsafe memory.map { unsafe $0 + head }, count: count)
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        unsafe space(for: bytes.count).copyMemory(from: bytes)
        tail += bytes.count
    }

    /// Returns space for at least `count` more bytes. `commit` then adds the bytes that were written to it.
    mutating func space(for count: Int) -> UnsafeMutableRawBufferPointer {
        if tail + count > capacity { ensureSpace(for: count) }
        // `ensureSpace` has allocated memory if `count` is above zero.
        return unsafe UnsafeMutableRawBufferPointer(
            start: memory.map { unsafe $0 + tail }, count: capacity - tail)
    }

    /// Adds the bytes that the caller wrote into the space.
    mutating func commit(count: Int) {
        precondition(tail + count <= capacity, "the committed bytes exceed the space")
        tail += count
    }

    /// Removes bytes that were sent.
    mutating func consume(count: Int) {
        precondition(count <= self.count, "the consumed bytes exceed the content")
        head += count
        guard head == tail else { return }
        head = 0
        tail = 0
        if capacity > OutboundBuffer.keptCapacityMax { release() }
    }

    /// Drops all bytes and frees the memory.
    mutating func release() {
        unsafe free(memory)
        unsafe memory = nil
        capacity = 0
        head = 0
        tail = 0
    }

    /// Moves the bytes to the front. If that is not enough, the memory at least doubles.
    private mutating func ensureSpace(for additionalBytes: Int) {
        if let memory = unsafe memory, head > 0 {
            unsafe memmove(memory, memory + head, count)
            tail -= head
            head = 0
        }
        guard tail + additionalBytes > capacity else { return }
        capacity = max(OutboundBuffer.capacityMin, capacity * 2, tail + additionalBytes)
        unsafe memory = realloc(memory, capacity)
        precondition(unsafe memory != nil, "out of memory")
    }
}
