internal import APNs
internal import Lifecycle
internal import Sender

/// The real pool for one app of one process, with simulated connections.
final class SimulatedPool {
    struct Request {
        let flight: SimulatedProcess.PushInFlight
        let deadline: Instant
    }

    /// A request on a connection.
    struct Stream {
        let ticket: PoolTicket
        var hasArrived = false
        /// The answer of APNs, after it has arrived.
        var answer: PushAnswer?
        /// The answer that comes after the sender has given up.
        var lateAnswer: PushAnswer?
        var isReported = false
    }

    struct Connection {
        var isOpen = false
        var streams: [Stream] = []
    }

    var stateMachine: PoolStateMachine
    var connections: [UInt32: Connection] = [:]
    var requests: [PoolTicket: Request] = [:]
    var budget = ConnectBudget(intervalMilliseconds: 100)

    init(settings: PoolSettings, seed: UInt64) {
        stateMachine = PoolStateMachine(settings: settings, seed: seed)
    }
}

/// The name of one pool of a process.
struct SimulatedPoolKey: Hashable, Comparable {
    let app: String
    let isSuspect: Bool

    static func < (one: SimulatedPoolKey, other: SimulatedPoolKey) -> Bool {
        one.app == other.app ? !one.isSuspect && other.isSuspect : one.app < other.app
    }
}
