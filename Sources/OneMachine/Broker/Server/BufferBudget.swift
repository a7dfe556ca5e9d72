/// The budget for the memory of incomplete requests on all connections. Confined to the loop.
///
/// Memory counts when it is used. A connection that exceeds the limit is not read until others have
/// released memory, or until it is closed as stalled.
final class BufferBudget {
    private let bytesMax: Int
    private(set) var bytesInUse = 0
    private var waiting: [Session] = []

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    /// Whether quiet connections should release their memory.
    var isShort: Bool { bytesInUse > bytesMax / 2 }

    /// Adds memory. Returns false if the connection must stop reading until `resume`. A connection that
    /// holds all the used memory goes on, so that one request below its own limit always succeeds.
    func reserve(_ bytes: Int, holding held: Int, by session: Session) -> Bool {
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

    func remove(_ session: Session) {
        waiting.removeAll { $0 === session }
    }
}
