internal import Lifecycle

/// The count of requests that wait for Kafka. At the limit a request is refused before it uses memory.
final class PendingRequestLimit: Sendable {
    private struct Usage {
        var requests = 0
        var bytes = 0
    }

    private let usage = TracedLock(Usage())
    private let limits: GatewayLimits

    init(limits: GatewayLimits) { self.limits = limits }

    func reserve(bytes: Int) -> Bool {
        usage.withLock { state in
            guard state.requests < limits.requestsWaitingMax, state.bytes + bytes <= limits.bytesWaitingMax
            else { return false }
            state.requests += 1
            state.bytes += bytes
            return true
        }
    }

    func release(bytes: Int) {
        usage.withLock { state in
            state.requests -= 1
            state.bytes -= bytes
        }
    }

    var pendingCount: Int { usage.withLock { $0.requests } }
}
