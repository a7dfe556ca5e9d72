internal import Synchronization

/// The memory budget for incoming bodies of all connections of a server. A body that a handler has taken over
/// no longer counts.
final class BodyMemoryBudget: Sendable {
    private let bytesMax: Int
    private let reserved = Atomic<Int>(0)

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    var reservedBytes: Int { reserved.load(ordering: .relaxed) }

    func reserve(bytes: Int) -> Bool {
        if reserved.add(bytes, ordering: .relaxed).newValue <= bytesMax { return true }
        release(bytes: bytes)
        return false
    }

    func release(bytes: Int) { reserved.subtract(bytes, ordering: .relaxed) }
}
