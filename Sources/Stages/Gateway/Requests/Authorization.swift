internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The check of each request at its head, before its body uses memory: who calls, what the caller may do, how
/// often, and whether the gateway can serve now. The server's threads call it.
///
/// - The caller is the API key in the request (`Authorization: Bearer`, or Netmera's header), or the key of a
///   console session if the request has no such header.
/// - The key must be neither revoked nor expired, and its app must exist (`CatalogSnapshot.access`).
/// - The key's role must include the role that the route asks for. A send asks for `send`. A schedule and its
///   cancel ask for `report`, so that a phone can make them for its own user. Queries ask for `read`. Changes
///   of the catalog and repairs of dead letters ask for `admin`.
/// - `send` includes `read` and `report`, and `admin` includes all roles.
/// - `RequestWorker` checks the key again before it decides the request.
///
/// An operator on the command line needs no key: `OperatorSends` writes to Kafka directly.
final class Authorization: Sendable {
    /// The counts by key and by address, shared by the server's threads.
    private struct CallerCounts {
        var failures: FailedAttempts
        var keyLimiter: RateLimiter
        var peerLimiter: RateLimiter
        var hasLoggedProxy = false
    }

    private enum CallerCheck {
        case access(AccessDecision)
        /// The request has a console session that is not valid.
        case invalidSession(HTTPResponse)
    }

    private struct ExceededLimit {
        let limit: RateLimit
        let waitMilliseconds: Int
    }

    private let environment: StageEnvironment
    private let kafkaHealth: KafkaHealth
    private let clock: GatewayClock
    private let delayedRefusals: DelayedRefusals
    private let limits: GatewayLimits
    private let clientAddresses: ClientAddressResolver
    private let metrics: GatewayMetrics
    private let log: Log
    let sessionCheck: SessionCheck
    private let counts: TracedLock<CallerCounts>

    init(
        in environment: StageEnvironment, kafkaHealth: KafkaHealth, clock: GatewayClock,
        delayedRefusals: DelayedRefusals, limits: GatewayLimits,
        clients clientAddresses: ClientAddressResolver,
        metrics: GatewayMetrics, log: Log
    ) {
        self.environment = environment
        self.kafkaHealth = kafkaHealth
        self.clock = clock
        self.delayedRefusals = delayedRefusals
        self.limits = limits
        self.clientAddresses = clientAddresses
        self.metrics = metrics
        self.log = log
        sessionCheck = SessionCheck(seal: SessionSeal(keys: environment.sealingKeys))
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

    /// Admits or refuses a request. The key is checked first, so that strangers learn nothing about the load.
    /// Kafka is checked last, so that a wrong request is refused as such even while Kafka is down.
    ///
    /// - Parameter take: Takes over the request with its body and the duty to answer. Returns false, without
    ///   taking over either, if too many requests wait.
    func admit(
        _ request: HTTPRequest, for role: APIKey.Role, keyStyle style: APIKeyStyle = .bearer,
        take: @escaping @Sendable (AuthorizedRequest) -> Bool
    ) -> HTTPAdmission {
        guard let catalog = environment.catalog else { return turnAway(with: Unavailable.notReady) }
        let address = clientAddresses.address(of: request)
        let peer = PeerNetwork.network(of: address)
        let access: AccessDecision
        switch checkCaller(of: request, for: role, keyStyle: style, in: catalog) {
        case .access(let decision): access = decision
        case .invalidSession(let response): return .refused(response)
        }
        guard case .granted(let key, let app) = access else { return refuse(access, to: peer, style: style) }
        if clientAddresses.comesThroughUnlistedProxy(request) { logUnlistedProxy(peer: request.peer) }
        if let exceeded = exceededLimit(key: key, peer: peer) {
            metrics.countLimited(by: exceeded.limit)
            return .refused(
                Unavailable.limited(by: exceeded.limit, waitMilliseconds: exceeded.waitMilliseconds))
        }
        if let refusal = Self.refusalOfEncoding(in: request.headers) { return .refused(refusal) }
        guard kafkaHealth.isReachable(at: .now()) else { return turnAway(with: Unavailable.unreachable) }
        let caller = RequestCaller(key: key, app: app, address: address)
        return .admitted { request, reply in
            if take(AuthorizedRequest(request: request, caller: caller, reply: reply)) { return }
            self.metrics.turnedAwayRequests.add()
            reply.send(Unavailable.overloaded)
        }
    }

    private func checkCaller(
        of request: HTTPRequest, for role: APIKey.Role, keyStyle style: APIKeyStyle,
        in catalog: CatalogSnapshot
    ) -> CallerCheck {
        switch sessionCheck.verdict(on: request.headers, now: clock.now) {
        case .none:
            let key = APIKeyHeader.key(in: request.headers, style: style)
            return .access(catalog.access(withText: key, for: role, now: clock.now))
        case .session(let session):
            return .access(session.access(in: catalog, for: role, now: clock.now))
        case .ended: return .invalidSession(SessionCheck.endedResponse)
        case .fromAnotherSite: return .invalidSession(SessionCheck.otherSiteResponse)
        }
    }

    /// Counts the request and returns the limit that it exceeds. The address limit applies only to keys
    /// without the send role, because a backend sends all of its requests from one address.
    private func exceededLimit(key: APIKey, peer: String) -> ExceededLimit? {
        let now = Instant.now()
        return counts.withLock { counts in
            if !key.role.includes(.send), let wait = counts.peerLimiter.recordRequest(of: peer, now: now) {
                return ExceededLimit(
                    limit: .peer(perSecond: limits.requestsPerPeerAndSecondMax), waitMilliseconds: wait)
            }
            return counts.keyLimiter.recordRequest(of: key.id, now: now).map { wait in
                ExceededLimit(
                    limit: .key(perSecond: limits.requestsPerKeyAndSecondMax), waitMilliseconds: wait)
            }
        }
    }

    private static func refusalOfEncoding(in headers: HTTPHeaders) -> HTTPResponse? {
        guard let encoding = headers["content-encoding"], encoding.lowercased() != "identity" else {
            return nil
        }
        let message = "send the body without an encoding, not as \(encoding)"
        return .error(status: 415, code: "encoding_not_supported", message: message)
    }

    /// Logs the unlisted proxy once. Any client can send this header, so repeated messages could fill the
    /// log.
    private func logUnlistedProxy(peer: String) {
        let isFirst = counts.withLock { counts in
            defer { counts.hasLoggedProxy = true }
            return !counts.hasLoggedProxy
        }
        guard isFirst else { return }
        log.warning(
            "requests come through a proxy that gateway.proxies does not list, so all of its phones count as one address; add it to gateway.proxies",
            .field("address", peer))
    }

    /// Refuses a request without access, with a delay that grows with each failure. All reasons count
    /// alike, also 403.
    private func refuse(_ access: AccessDecision, to peer: String, style: APIKeyStyle) -> HTTPAdmission {
        guard let (reason, response) = APIKeyHeader.refusal(for: access, style: style) else {
            return turnAway(with: Unavailable.notReady)
        }
        metrics.countRefusedKey(reason: reason)
        let delay = counts.withLock { $0.failures.recordFailure(of: peer, now: .now()) }
        if delay == 0 { return .refused(response) }
        return .refusedLater { _, reply in
            self.delayedRefusals.send(response, on: reply, afterMilliseconds: delay)
        }
    }

    private func turnAway(with response: HTTPResponse) -> HTTPAdmission {
        metrics.turnedAwayRequests.add()
        return .refused(response)
    }
}
