internal import Catalog
internal import HTTPServer
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Telemetry

/// The admission of requests: key, role, rate limits and readiness. Everything is decided from the head of a
/// request, before its body uses memory.
final class Entrance: Sendable {
    private struct State {
        var failures: FailedAttempts
        var keys: RateTable
        var peers: RateTable
        var hasToldOfProxy = false
    }

    private let environment: StageEnvironment
    private let reach: KafkaReach
    private let clock: GatewayClock
    private let heldBack: HeldBackRefusals
    private let limits: GatewayLimits
    private let clients: ClientAddress
    private let metrics: GatewayMetrics
    private let log: Log
    /// The check of console sessions.
    let sessions: SessionCheck
    private let state: TracedLock<State>

    init(
        _ environment: StageEnvironment, reach: KafkaReach, clock: GatewayClock, heldBack: HeldBackRefusals,
        limits: GatewayLimits,
        clients: ClientAddress, metrics: GatewayMetrics, log: Log
    ) {
        self.environment = environment
        self.reach = reach
        self.clock = clock
        self.heldBack = heldBack
        self.limits = limits
        self.clients = clients
        self.metrics = metrics
        self.log = log
        sessions = SessionCheck(seal: SessionSeal(environment.sealingKeys))
        let now = Instant.now()
        state = TracedLock(
            State(
                failures: FailedAttempts(now: now),
                keys: RateTable(
                    countMax: limits.requestsPerKeyAndSecondMax, windowMilliseconds: 1000,
                    entriesMax: GatewayLimits.keysCountedMax, now: now),
                peers: RateTable(
                    countMax: limits.requestsPerPeerAndSecondMax, windowMilliseconds: 1000,
                    entriesMax: GatewayLimits.peersCountedMax, now: now)))
    }

    /// Admits or refuses a request from its head.
    ///
    /// - Parameter take: Takes over the request with its body and the duty to answer. Returns false, without
    ///   taking over either, if too many requests wait.
    func judge(
        _ request: HTTPRequest, for role: APIKey.Role, by style: KeyStyle = .bearer,
        take: @escaping @Sendable (Incoming) -> Bool
    ) -> HTTPAdmission {
        guard let catalog = environment.catalog else { return turnAway(Unavailable.notReady) }
        let address = clients.of(request)
        let peer = PeerNetwork.of(address)
        let access: Access
        switch sessions.verdict(on: request.headers, now: clock.now) {
        case .none:
            access = catalog.access(KeyHeader.key(in: request.headers, style), for: role, now: clock.now)
        case .session(let session): access = session.access(in: catalog, for: role, now: clock.now)
        case .ended: return .refused(SessionCheck.ended)
        case .foreign: return .refused(SessionCheck.foreign)
        }
        guard case .granted(let key, let app) = access else { return refuse(access, to: peer, style) }
        if clients.isUnlistedProxy(request) { tellOfProxy(request.peer) }
        if let (limit, wait) = count(key, peer) {
            metrics.limited(limit)
            return .refused(Unavailable.limited(limit, waitMilliseconds: wait))
        }
        if let encoding = request.headers["content-encoding"], encoding.lowercased() != "identity" {
            let message = "send the body without an encoding, not as \(encoding)"
            return .refused(.error(415, "encoding_not_supported", message: message))
        }
        guard reach.isReachable(at: .now()) else { return turnAway(Unavailable.unreachable) }
        let visitor = Visitor(key: key, app: app, address: address)
        return .admitted { request, reply in
            if take(Incoming(request: request, visitor: visitor, reply: reply)) { return }
            self.metrics.turnedAway.add()
            reply.send(Unavailable.overloaded)
        }
    }

    /// Counts the request and returns the limit that it exceeds, with the time to wait. The address limit
    /// applies only to keys without the send role. A backend sends all of its requests from one address.
    private func count(_ key: APIKey, _ peer: String) -> (RateLimit, waitMilliseconds: Int)? {
        let now = Instant.now()
        return state.withLock { state in
            if !key.role.includes(.send), let wait = state.peers.take(peer, now: now) {
                return (.peer(perSecond: limits.requestsPerPeerAndSecondMax), wait)
            }
            return state.keys.take(key.id, now: now).map { wait in
                (.key(perSecond: limits.requestsPerKeyAndSecondMax), wait)
            }
        }
    }

    /// Logs the unlisted proxy once. Any client can send this header, so repeated messages could fill the
    /// log.
    private func tellOfProxy(_ peer: String) {
        let isFirst = state.withLock { state in
            defer { state.hasToldOfProxy = true }
            return !state.hasToldOfProxy
        }
        guard isFirst else { return }
        log.warning(
            "requests come through a proxy that gateway.proxies does not list, so all of its phones count as one address; add it to gateway.proxies",
            .field("address", peer))
    }

    /// Refuses a request without a valid key, with a delay that grows with each failure. All reasons count
    /// alike, also 403.
    private func refuse(_ access: Access, to peer: String, _ style: KeyStyle) -> HTTPAdmission {
        guard let (reason, response) = KeyHeader.refusal(access, style) else {
            return turnAway(Unavailable.notReady)
        }
        metrics.refusedKey(reason)
        let delay = state.withLock { $0.failures.failed(peer, now: .now()) }
        if delay == 0 { return .refused(response) }
        return .refusedLater { _, reply in
            self.heldBack.answer(reply, response, afterMilliseconds: delay)
        }
    }

    private func turnAway(_ response: HTTPResponse) -> HTTPAdmission {
        metrics.turnedAway.add()
        return .refused(response)
    }
}
