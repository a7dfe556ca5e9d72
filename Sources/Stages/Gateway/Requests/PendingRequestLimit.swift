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

    /// Counts requests with bodies of this size together. Returns false, without counting them, beyond a limit.
    func reserve(requests requestCount: Int = 1, bytes byteCount: Int) -> Bool {
        usage.withLock { usage in
            guard usage.requestCount + requestCount <= limits.requestsWaitingMax,
                usage.byteCount + byteCount <= limits.bytesWaitingMax
            else { return false }
            usage.requestCount += requestCount
            usage.byteCount += byteCount
            return true
        }
    }

    /// Ends the reservation of answered requests.
    func release(requests requestCount: Int = 1, bytes byteCount: Int) {
        usage.withLock { usage in
            usage.requestCount -= requestCount
            usage.byteCount -= byteCount
        }
    }

    var pendingCount: Int { usage.withLock { $0.requestCount } }
}
