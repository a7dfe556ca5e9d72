internal import Glibc

/// Bytes that wait for a socket: one piece of memory, filled at the tail, sent from the head.
@safe struct OutboundBuffer: ~Copyable {
    private static let leastCapacity = 16 * 1024
    /// An empty buffer larger than this gives its memory back: thousands of connections are idle.
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

    /// Room for at least `count` more bytes; `commit` says how many were written to it.
    mutating func space(for count: Int) -> UnsafeMutableRawBufferPointer {
        if tail + count > capacity { makeRoom(for: count) }
        // `makeRoom` has made memory for any count above zero.
        return unsafe UnsafeMutableRawBufferPointer(
            start: memory.map { unsafe $0 + tail }, count: capacity - tail)
    }

    mutating func commit(_ count: Int) {
        precondition(tail + count <= capacity, "more committed than there was room for")
        tail += count
    }

    mutating func consume(_ count: Int) {
        precondition(count <= self.count, "more consumed than there was")
        head += count
        guard head == tail else { return }
        head = 0
        tail = 0
        if capacity > OutboundBuffer.keptCapacityMax { release() }
    }

    mutating func release() {
        unsafe free(memory)
        unsafe memory = nil
        capacity = 0
        head = 0
        tail = 0
    }

    private mutating func makeRoom(for extra: Int) {
        if let memory = unsafe memory, head > 0 {
            unsafe memmove(memory, memory + head, count)
            tail -= head
            head = 0
        }
        guard tail + extra > capacity else { return }
        capacity = max(OutboundBuffer.leastCapacity, capacity * 2, tail + extra)
        unsafe memory = realloc(memory, capacity)
        precondition(unsafe memory != nil, "out of memory")
    }
}
