internal import CatalogRecords
package import Lifecycle

/// The rates of keys and addresses: requests, bytes of bodies, and reports, each per second. The server's threads
/// charge requests and bytes from a request's head. The thread for reports charges the reports of a body.
///
/// Each charge first takes from the address, then from the key. A refused request still counts for the rates that it
/// does not exceed.
package final class CallerRates: Sendable {
    private static let windowMilliseconds = 1000

    /// The rate of one unit (requests, bytes or reports), for addresses and for keys.
    private struct Rate {
        let peerLimit: RateLimit
        let keyLimit: RateLimit
        var peers: RateLimiter
        var keys: RateLimiter

        init(
            _ peerLimit: RateLimit, perPeer peerCountMax: Int, _ keyLimit: RateLimit, perKey keyCountMax: Int,
            now: Instant
        ) {
            (self.peerLimit, self.keyLimit) = (peerLimit, keyLimit)
            peers = RateLimiter(
                countMax: peerCountMax, windowMilliseconds: CallerRates.windowMilliseconds,
                entriesMax: GatewayLimits.peersCountedMax, now: now)
            keys = RateLimiter(
                countMax: keyCountMax, windowMilliseconds: CallerRates.windowMilliseconds,
                entriesMax: GatewayLimits.keysCountedMax, now: now)
        }

        /// Returns the limit that the amount exceeds, or nil if the caller may send it.
        mutating func charge(_ amount: Int, to caller: RequestCaller, at now: Instant) -> ExceededLimit? {
            if let peer = caller.countedPeer, let wait = peers.charge(amount, to: peer, now: now) {
                return ExceededLimit(limit: peerLimit, countMax: peers.countMax, waitMilliseconds: wait)
            }
            guard let wait = keys.charge(amount, to: caller.key.id, now: now) else { return nil }
            return ExceededLimit(limit: keyLimit, countMax: keys.countMax, waitMilliseconds: wait)
        }

        /// Returns the amount that the caller's key may still send.
        func quota(of caller: RequestCaller, at now: Instant) -> RequestQuota {
            RequestQuota(countMax: keys.countMax, remaining: keys.remaining(for: caller.key.id, now: now))
        }
    }

    private struct Rates {
        var requests: Rate
        var bytes: Rate
        var reports: Rate
    }

    private let rates: TracedLock<Rates>

    package init(limits: GatewayLimits, now: Instant = .now()) {
        rates = TracedLock(
            Rates(
                requests: Rate(
                    .peerRequests, perPeer: limits.requestsPerPeerAndSecondMax,
                    .keyRequests, perKey: limits.requestsPerKeyAndSecondMax, now: now),
                bytes: Rate(
                    .peerBytes, perPeer: limits.bytesPerPeerAndSecondMax,
                    .keyBytes, perKey: limits.bytesPerKeyAndSecondMax, now: now),
                reports: Rate(
                    .peerReports, perPeer: limits.reportsPerPeerAndSecondMax,
                    .keyReports, perKey: limits.reportsPerKeyAndSecondMax, now: now)))
    }

    /// The result of charging a request.
    package struct RequestCharge {
        /// The limit that the request exceeds, or nil.
        package let exceeded: ExceededLimit?
        /// The requests that the key may still make.
        let quota: RequestQuota
    }

    /// Charges a request and its body.
    ///
    /// - Parameter byteCount: The announced size of the body. It is 0 if the body comes in chunks.
    package func chargeRequest(
        of caller: RequestCaller, bytes byteCount: Int, at now: Instant = .now()
    ) -> RequestCharge {
        rates.withLock { rates in
            let exceeded =
                rates.requests.charge(1, to: caller, at: now)
                ?? rates.bytes.charge(byteCount, to: caller, at: now)
            return RequestCharge(exceeded: exceeded, quota: rates.requests.quota(of: caller, at: now))
        }
    }

    /// Charges the further sends of a batch like requests. The batch's own request is already charged, as its first send.
    func chargeFurtherSends(
        of caller: RequestCaller, count: Int, at now: Instant = .now()
    ) -> RequestCharge {
        rates.withLock { rates in
            let exceeded = rates.requests.charge(count, to: caller, at: now)
            return RequestCharge(exceeded: exceeded, quota: rates.requests.quota(of: caller, at: now))
        }
    }

    /// Charges a body that came in chunks, whose size the head did not announce.
    func chargeChunks(
        of caller: RequestCaller, bytes byteCount: Int, at now: Instant = .now()
    ) -> ExceededLimit? {
        rates.withLock { $0.bytes.charge(byteCount, to: caller, at: now) }
    }

    /// Charges the reports of one body. Returns the limit that they exceed.
    func chargeReports(
        of caller: RequestCaller, count: Int, at now: Instant = .now()
    ) -> ExceededLimit? {
        rates.withLock { $0.reports.charge(count, to: caller, at: now) }
    }
}
