internal import Catalog
internal import HTTPServer
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Telemetry

/// The admission of requests: key, role, rate limits and readiness. Everything is decided from the head of a
/// request, before its body uses memory.
final class Authorization: Sendable {
    private struct CallerCounts {
        var failures: FailedAttempts
        var keyLimiter: RateLimiter
        var peerLimiter: RateLimiter
        var hasLoggedProxy = false
    }

    private let environment: StageEnvironment
    private let kafkaHealth: KafkaHealth
    private let clock: GatewayClock
    private let delayedRefusals: DelayedRefusals
    private let limits: GatewayLimits
    private let clientAddresses: ClientAddressResolver
    private let metrics: GatewayMetrics
    private let log: Log
    /// The check of console sessions.
    let sessions: SessionCheck
    private let counts: TracedLock<CallerCounts>

    init(
        in environment: StageEnvironment, kafkaHealth: KafkaHealth, clock: GatewayClock,
        delayedRefusals: DelayedRefusals,
        limits: GatewayLimits,
        clients: ClientAddressResolver, metrics: GatewayMetrics, log: Log
    ) {
        self.environment = environment
        self.kafkaHealth = kafkaHealth
        self.clock = clock
        self.delayedRefusals = delayedRefusals
        self.limits = limits
        self.clientAddresses = clients
        self.metrics = metrics
        self.log = log
        sessions = SessionCheck(seal: SessionSeal(keys: environment.sealingKeys))
        let now = Instant.now()
        counts = TracedLock(
            CallerCounts(
                failures: FailedAttempts(now: now),
                keyLimiter: RateLimiter(
                    countMax: limits.requestsPerKeyAndSecondMax, windowMilliseconds: 1000,
                    entriesMax: GatewayLimits.keysCountedMax, now: now),
                peerLimiter: RateLimiter(
                    countMax: limits.requestsPerPeerAndSecondMax, windowMilliseconds: 1000,
                    entriesMax: GatewayLimits.peersCountedMax, now: now)))
    }

    /// Admits or refuses a request from its head.
    ///
    /// - Parameter take: Takes over the request with its body and the duty to answer. Returns false, without
    ///   taking over either, if too many requests wait.
    func admit(
        _ request: HTTPRequest, for role: APIKey.Role, keyStyle style: APIKeyStyle = .bearer,
        take: @escaping @Sendable (AuthorizedRequest) -> Bool
    ) -> HTTPAdmission {
        guard let catalog = environment.catalog else { return refuseUnread(with: Unavailable.notReady) }
        let address = clientAddresses.address(of: request)
        let peer = PeerNetwork.network(of: address)
        let access: AccessDecision
        switch sessions.verdict(on: request.headers, now: clock.now) {
        case .none:
            access = catalog.access(
                withText: APIKeyHeader.key(in: request.headers, style: style), for: role, now: clock.now)
        case .session(let session): access = session.access(in: catalog, for: role, now: clock.now)
        case .ended: return .refused(SessionCheck.endedResponse)
        case .foreign: return .refused(SessionCheck.foreignResponse)
        }
        guard case .granted(let key, let app) = access else { return refuse(access, to: peer, style: style) }
        if clientAddresses.comesThroughUnlistedProxy(request) { logUnlistedProxy(peer: request.peer) }
        if let (limit, wait) = exceededLimit(key: key, peer: peer) {
            metrics.countLimited(by: limit)
            return .refused(Unavailable.limited(by: limit, waitMilliseconds: wait))
        }
        if let encoding = request.headers["content-encoding"], encoding.lowercased() != "identity" {
            let message = "send the body without an encoding, not as \(encoding)"
            return .refused(.error(status: 415, code: "encoding_not_supported", message: message))
        }
        guard kafkaHealth.isReachable(at: .now()) else { return refuseUnread(with: Unavailable.unreachable) }
        let caller = RequestCaller(key: key, app: app, address: address)
        return .admitted { request, reply in
            if take(AuthorizedRequest(request: request, caller: caller, reply: reply)) { return }
            self.metrics.turnedAway.add()
            reply.send(Unavailable.overloaded)
        }
    }

    /// Counts the request and returns the limit that it exceeds, with the time to wait. The address limit
    /// applies only to keys without the send role. A backend sends all of its requests from one address.
    private func exceededLimit(key: APIKey, peer: String) -> (RateLimit, waitMilliseconds: Int)? {
        let now = Instant.now()
        return counts.withLock { state in
            if !key.role.includes(.send), let wait = state.peerLimiter.recordRequest(of: peer, now: now) {
                return (.peer(perSecond: limits.requestsPerPeerAndSecondMax), wait)
            }
            return state.keyLimiter.recordRequest(of: key.id, now: now).map { wait in
                (.key(perSecond: limits.requestsPerKeyAndSecondMax), wait)
            }
        }
    }

    /// Logs the unlisted proxy once. Any client can send this header, so repeated messages could fill the
    /// log.
    private func logUnlistedProxy(peer: String) {
        let isFirst = counts.withLock { state in
            defer { state.hasLoggedProxy = true }
            return !state.hasLoggedProxy
        }
        guard isFirst else { return }
        log.warning(
            "requests come through a proxy that gateway.proxies does not list, so all of its phones count as one address; add it to gateway.proxies",
            .field("address", peer))
    }

    /// Refuses a request without a valid key, with a delay that grows with each failure. All reasons count
    /// alike, also 403.
    private func refuse(_ access: AccessDecision, to peer: String, style: APIKeyStyle) -> HTTPAdmission {
        guard let (reason, response) = APIKeyHeader.refusal(for: access, style: style) else {
            return refuseUnread(with: Unavailable.notReady)
        }
        metrics.countRefusedKey(reason: reason)
        let delay = counts.withLock { $0.failures.recordFailure(of: peer, now: .now()) }
        if delay == 0 { return .refused(response) }
        return .refusedLater { _, reply in
            self.delayedRefusals.send(response, on: reply, afterMilliseconds: delay)
        }
    }

    private func refuseUnread(with response: HTTPResponse) -> HTTPAdmission {
        metrics.turnedAway.add()
        return .refused(response)
    }
}
