internal import Lifecycle

/// The number of requests that wait for Kafka, and the bytes of their bodies. The server's threads reserve
/// before they hand a request over, so that a request beyond a limit is refused before it uses memory.
final class PendingRequestLimit: Sendable {
    private struct Usage {
        var requestCount = 0
        var byteCount = 0
    }

    private let usage = TracedLock(Usage())
    private let limits: GatewayLimits

    init(limits: GatewayLimits) { self.limits = limits }

    /// Counts a request with a body of this size. Returns false, without counting it, beyond a limit.
    func reserve(bytes byteCount: Int) -> Bool {
        usage.withLock { usage in
            guard usage.requestCount < limits.requestsWaitingMax,
                usage.byteCount + byteCount <= limits.bytesWaitingMax
            else { return false }
            usage.requestCount += 1
            usage.byteCount += byteCount
            return true
        }
    }

    /// Ends the reservation of an answered request.
    func release(bytes byteCount: Int) {
        usage.withLock { usage in
            usage.requestCount -= 1
            usage.byteCount -= byteCount
        }
    }

    var pendingCount: Int { usage.withLock { $0.requestCount } }
}
