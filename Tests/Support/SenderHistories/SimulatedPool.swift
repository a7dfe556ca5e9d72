internal import APNs
internal import Lifecycle
internal import Sender

/// A connection pool of one process for one app: the production's state machine, with simulated connections.
final class SimulatedPool {
    /// A push that the pool has accepted.
    struct Request {
        let flight: SimulatedProcess.PushInFlight
        /// The time at which the outcome counts as unknown.
        let deadline: Instant
    }

    /// A request on a connection, from its sending until its stream is free again.
    struct Stream {
        let ticket: PoolTicket
        var hasArrived = false
        /// The answer of APNs, after the request has arrived.
        var answer: PushAnswer?
        /// The answer that comes after the deadline.
        var lateAnswer: PushAnswer?
        /// Whether the request was reported as overdue.
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

/// The name of one pool of a process. An app has a pool for each kind of connections.
struct SimulatedPoolKey: Hashable, Comparable {
    let app: String
    let connections: PushConnections

    static func < (left: SimulatedPoolKey, right: SimulatedPoolKey) -> Bool {
        func order(_ key: SimulatedPoolKey) -> Int? {
            PushConnections.allCases.firstIndex(of: key.connections)
        }
        return left.app == right.app ? order(left)! < order(right)! : left.app < right.app
    }
}
