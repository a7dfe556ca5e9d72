internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The check of each request at its head, before its body uses memory. It checks the caller, the caller's role and
/// rates, and whether the gateway can serve now. The server's threads call it.
///
/// - The caller is the API key in the request (`Authorization: Bearer`, or Netmera's header), or the key of a
///   console session if the request has no such header.
/// - The key must be neither revoked nor expired, and its app must exist (`CatalogSnapshot.access`).
/// - The key's role must include the role that the route asks for. A send asks for `send`. A schedule and its cancel
///   ask for `report`, so that a phone can make them for its own user, in apps that permit it. Queries ask for
///   `read`. Changes of the catalog and repairs of dead letters ask for `admin`.
/// - `send` includes `read` and `report`, and `admin` includes all roles.
/// - `RequestWorker` checks the key again before it decides the request.
///
/// An operator on the command line needs no key: `OperatorSends` writes to Kafka directly.
final class Authorization: Sendable {
    /// The state that the server's threads share.
    private struct SharedState {
        var failures: FailedAttempts
        var hasLoggedProxy = false
    }

    /// The result of finding the caller.
    private enum CallerCheck {
        /// The access of the request's key, or of its session's key.
        case access(AccessDecision)
        /// The request has a console session that is not valid.
        case invalidSession(HTTPResponse)
    }

    private let environment: StageEnvironment
    private let kafkaHealth: KafkaHealth
    private let clock: GatewayClock
    private let delayedRefusals: DelayedRefusals
    private let rates: CallerRates
    private let clientAddresses: ClientAddressResolver
    private let metrics: GatewayMetrics
    private let log: Log
    let sessionCheck: SessionCheck
    private let shared: TracedLock<SharedState>

    init(
        in environment: StageEnvironment, kafkaHealth: KafkaHealth, clock: GatewayClock,
        delayedRefusals: DelayedRefusals, rates: CallerRates,
        clients clientAddresses: ClientAddressResolver,
        metrics: GatewayMetrics, log: Log
    ) {
        self.environment = environment
        self.kafkaHealth = kafkaHealth
        self.clock = clock
        self.delayedRefusals = delayedRefusals
        self.rates = rates
        self.clientAddresses = clientAddresses
        self.metrics = metrics
        self.log = log
        sessionCheck = SessionCheck(seal: SessionSeal(keys: environment.sealingKeys))
        shared = TracedLock(SharedState(failures: FailedAttempts(now: .now())))
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
        let caller = RequestCaller(key: key, app: app, address: address, peer: peer)
        // The server has checked the length. Without one the body is empty, or comes in chunks.
        let announcedBytes = request.headers["content-length"].flatMap { Int($0) }
        let charge = rates.chargeRequest(of: caller, bytes: announcedBytes ?? 0)
        if let exceeded = charge.exceeded {
            let response = refusal(beyond: exceeded, quota: charge.quota)
            // Only a caller whose address is counted waits for the refusal (`DelayedRefusals`).
            if caller.countedPeer == nil { return .refused(response) }
            return .refusedLater { [delayedRefusals] _, reply in
                delayedRefusals.send(response, beyondRateOf: caller, on: reply)
            }
        }
        if let refusal = Self.refusalOfEncoding(in: request.headers) { return .refused(refusal) }
        guard kafkaHealth.isReachable(at: .now()) else { return turnAway(with: Unavailable.unreachable) }
        // The server calls this with the complete request, when its body has been read.
        return .admitted(limitHeaders: charge.quota.headers) { request, reply in
            let authorized = AuthorizedRequest(request: request, caller: caller, reply: reply)
            self.handOver(authorized, announcedBytes: announcedBytes, take: take)
        }
    }

    /// Passes a complete request to `take`, or refuses it. The bytes of a body in chunks are charged only now, because
    /// its head does not announce them.
    private func handOver(
        _ authorized: AuthorizedRequest, announcedBytes: Int?, take: (AuthorizedRequest) -> Bool
    ) {
        let (request, reply) = (authorized.request, authorized.reply)
        if announcedBytes == nil, !request.body.isEmpty,
            let exceeded = rates.chargeChunks(of: authorized.caller, bytes: request.body.count)
        {
            return delayedRefusals.send(
                refusal(beyond: exceeded), beyondRateOf: authorized.caller, on: reply)
        }
        if take(authorized) { return }
        metrics.turnedAwayRequests.add()
        reply.send(Unavailable.overloaded)
    }

    /// Finds the access of the request's key, or of its session if it brings no key.
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

    /// Counts the refusal of a request beyond a rate limit, and returns the answer.
    ///
    /// - Parameter quota: The key's quota, if the answer does not get it with the headers of an admitted request.
    private func refusal(beyond exceeded: ExceededLimit, quota: RequestQuota? = nil) -> HTTPResponse {
        metrics.countLimited(by: exceeded.limit)
        return Unavailable.limited(by: exceeded, quota: quota)
    }

    /// Returns the refusal of a compressed body. A few bytes of it could use much memory.
    private static func refusalOfEncoding(in headers: HTTPHeaders) -> HTTPResponse? {
        guard let encoding = headers["content-encoding"], encoding.lowercased() != "identity" else {
            return nil
        }
        let message = "send the body without an encoding, not as \(encoding)"
        return .error(status: 415, code: "encoding_not_supported", message: message)
    }

    /// Logs the unlisted proxy once. Any client can send `X-Forwarded-For`, so repeated messages could fill the log.
    private func logUnlistedProxy(peer: String) {
        let wasLogged = shared.withLock { shared in
            let hasLoggedProxy = shared.hasLoggedProxy
            shared.hasLoggedProxy = true
            return hasLoggedProxy
        }
        if wasLogged { return }
        log.warning(
            "requests come through a proxy that gateway.proxies does not list, so all of its phones count as one address; add it to gateway.proxies",
            .field("address", peer))
    }

    /// Refuses a request without access, with a delay that grows with each failure. All reasons count
    /// alike, also 403.
    private func refuse(_ access: AccessDecision, to peer: String, style: APIKeyStyle) -> HTTPAdmission {
        guard let (reason, response) = APIKeyHeader.refusal(for: access, style: style) else {
            // Never reached, because granted access has no refusal and is not refused.
            return turnAway(with: Unavailable.notReady)
        }
        metrics.countRefusedKey(reason: reason)
        let delay = shared.withLock { $0.failures.recordFailure(of: peer, now: .now()) }
        if delay == 0 { return .refused(response) }
        return .refusedLater { _, reply in
            self.delayedRefusals.send(response, on: reply, afterMilliseconds: delay)
        }
    }

    /// Refuses a request that the gateway cannot serve now.
    private func turnAway(with response: HTTPResponse) -> HTTPAdmission {
        metrics.turnedAwayRequests.add()
        return .refused(response)
    }
}
