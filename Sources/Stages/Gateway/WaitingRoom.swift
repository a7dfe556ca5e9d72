internal import Lifecycle

/// The count of requests that wait for Kafka. At the limit a request is refused before it uses memory.
final class WaitingRoom: Sendable {
    private struct State {
        var requests = 0
        var bytes = 0
    }

    private let state = TracedLock(State())
    private let limits: GatewayLimits

    init(_ limits: GatewayLimits) { self.limits = limits }

    func enter(bytes: Int) -> Bool {
        state.withLock { state in
            guard state.requests < limits.requestsWaitingMax, state.bytes + bytes <= limits.bytesWaitingMax
            else { return false }
            state.requests += 1
            state.bytes += bytes
            return true
        }
    }

    func leave(bytes: Int) {
        state.withLock { state in
            state.requests -= 1
            state.bytes -= bytes
        }
    }

    var requests: Int { state.withLock { $0.requests } }
}
