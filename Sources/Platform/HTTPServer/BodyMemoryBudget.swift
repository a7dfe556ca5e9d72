internal import Synchronization

/// The memory for request bodies that a server is reading, on all connections together. A body counts until a
/// handler takes it over.
final class BodyMemoryBudget: Sendable {
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
