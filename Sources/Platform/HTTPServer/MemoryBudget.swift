internal import Synchronization

/// The memory that a server uses for bodies of one direction, on all connections together. The body of a request counts
/// until a handler takes it over, and the body of an answer until it was sent.
final class MemoryBudget: Sendable {
    private let bytesMax: Int
    private let reserved = Atomic<Int>(0)

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    var reservedBytes: Int { reserved.load(ordering: .relaxed) }

    /// Returns false if the memory is used up.
    func reserve(bytes: Int) -> Bool {
        if reserved.add(bytes, ordering: .relaxed).newValue <= bytesMax { return true }
        release(bytes: bytes)
        return false
    }

    func release(bytes: Int) { reserved.subtract(bytes, ordering: .relaxed) }
}
