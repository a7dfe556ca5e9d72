internal import Synchronization

/// The memory that bodies on their way in may have, for all connections of a server together. What a
/// handler has taken over is the handler's to count.
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
