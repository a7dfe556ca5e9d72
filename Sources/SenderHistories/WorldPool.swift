internal import APNs
internal import Lifecycle
internal import Sender

/// The pool that is shipped, for one app of one process, and the connections under it as values.
final class WorldPool {
    struct Request {
        let flight: WorldProcess.Flight
        let deadline: Instant
    }

    /// A request on a connection.
    struct Stream {
        let ticket: PoolTicket
        var hasArrived = false
        /// What APNs says to it, once it does.
        var answer: PushAnswer?
        /// What it says when the sender has given up.
        var late: PushAnswer?
        var isReported = false
    }

    struct Link {
        var isOpen = false
        var streams: [Stream] = []
    }

    var pool: Pool
    var links: [UInt32: Link] = [:]
    var requests: [PoolTicket: Request] = [:]
    var budget = ConnectBudget(intervalMilliseconds: 100)

    init(_ settings: PoolSettings, seed: UInt64) { pool = Pool(settings, seed: seed) }
}

/// Which of a process's pools.
struct WorldPoolName: Hashable, Comparable {
    let app: String
    let isSuspect: Bool

    static func < (one: WorldPoolName, other: WorldPoolName) -> Bool {
        one.app == other.app ? !one.isSuspect && other.isSuspect : one.app < other.app
    }
}
