internal import APNs
internal import Lifecycle
internal import Sender

/// The real pool for one app of one process, with simulated connections.
final class WorldPool {
    struct Request {
        let flight: WorldProcess.Flight
        let deadline: Instant
    }

    /// A request on a connection.
    struct Stream {
        let ticket: PoolTicket
        var hasArrived = false
        /// The answer of APNs, after it has arrived.
        var answer: PushAnswer?
        /// The answer that comes after the sender has given up.
        var late: PushAnswer?
        var isReported = false
    }

    struct Link {
        var isOpen = false
        var streams: [Stream] = []
    }

    var pool: PoolStateMachine
    var links: [UInt32: Link] = [:]
    var requests: [PoolTicket: Request] = [:]
    var budget = ConnectBudget(intervalMilliseconds: 100)

    init(_ settings: PoolSettings, seed: UInt64) { pool = PoolStateMachine(settings: settings, seed: seed) }
}

/// The name of one pool of a process.
struct WorldPoolName: Hashable, Comparable {
    let app: String
    let isSuspect: Bool

    static func < (one: WorldPoolName, other: WorldPoolName) -> Bool {
        one.app == other.app ? !one.isSuspect && other.isSuspect : one.app < other.app
    }
}
