/// The budget for the memory of incomplete requests on all connections. Confined to the loop.
///
/// Only memory that is in use counts. A connection whose new memory exceeds the limit is not read until others have
/// released memory, or until it is closed as stalled (`Session.sweep`).
final class BufferBudget {
    private let bytesMax: Int
    private(set) var bytesInUse = 0
    private var waiting: [Session] = []

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    /// Whether quiet connections should release their memory.
    var isShort: Bool { bytesInUse > bytesMax / 2 }

    /// Adds memory of a connection that then holds `holding` bytes. Returns false if the connection must
    /// stop reading until `Session.resume` is called. A connection that holds all the used memory continues,
    /// so that one request below its own limit always succeeds.
    func reserve(_ byteCount: Int, holding sessionBytes: Int, by session: Session) -> Bool {
        bytesInUse += byteCount
        guard bytesInUse > bytesMax, bytesInUse > sessionBytes else { return true }
        if !waiting.contains(where: { $0 === session }) { waiting.append(session) }
        return false
    }

    func release(_ byteCount: Int) {
        guard byteCount > 0 else { return }
        bytesInUse -= byteCount
        // A session is added again if its next bytes exceed the limit.
        let resumed = waiting
        waiting = []
        for session in resumed { session.resume() }
    }

    func remove(_ session: Session) {
        waiting.removeAll { $0 === session }
    }
}
