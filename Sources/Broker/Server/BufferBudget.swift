/// The memory that requests in the making may use on all connections together. Loop-confined.
///
/// Memory is entered as it is used; a connection that passes the limit is not read on until others
/// have given something back, or until it is closed for standing still.
final class BufferBudget {
    private let bytesMax: Int
    private(set) var bytesInUse = 0
    private var waiting: [Session] = []

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    /// Whether quiet connections should give back what they keep.
    var isShort: Bool { bytesInUse > bytesMax / 2 }

    /// False: stop reading, until `resume`. Whoever holds all that is in use goes on, so that one
    /// request below its own limit is always possible.
    func use(_ bytes: Int, holding held: Int, by session: Session) -> Bool {
        bytesInUse += bytes
        guard bytesInUse > bytesMax, bytesInUse > held else { return true }
        if !waiting.contains(where: { $0 === session }) { waiting.append(session) }
        return false
    }

    func release(_ bytes: Int) {
        guard bytes > 0 else { return }
        bytesInUse -= bytes
        let resumed = waiting
        waiting = []
        for session in resumed { session.resume() }
    }

    func forget(_ session: Session) {
        waiting.removeAll { $0 === session }
    }
}
