internal import Synchronization

/// The memory budget for incoming bodies of all connections of a server. A body that a handler has taken over
/// no longer counts.
final class BodyRoom: Sendable {
    private let bytesMax: Int
    private let taken = Atomic<Int>(0)

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    var bytes: Int { taken.load(ordering: .relaxed) }

    func take(_ bytes: Int) -> Bool {
        if taken.add(bytes, ordering: .relaxed).newValue <= bytesMax { return true }
        giveBack(bytes)
        return false
    }

    func giveBack(_ bytes: Int) { taken.subtract(bytes, ordering: .relaxed) }
}
