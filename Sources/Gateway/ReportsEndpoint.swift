internal import Catalog
internal import HTTPServer
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

/// `POST /v1/reports`: who may, how often, and whether it can be taken now. Everything that costs is the
/// writer's.
final class ReportsEndpoint: Sendable {
    private struct State {
        var failures: FailedAttempts
        var rates: RequestRates
    }

    private let catalog: CatalogReader
    private let reach: KafkaReach
    private let writer: ReportWriter
    private let heldBack: HeldBackRefusals
    private let limits: GatewayLimits
    private let metrics: GatewayMetrics
    private let state: TracedLock<State>

    init(
        catalog: CatalogReader, reach: KafkaReach, writer: ReportWriter, limits: GatewayLimits,
        metrics: GatewayMetrics
    ) {
        self.catalog = catalog
        self.reach = reach
        self.writer = writer
        heldBack = HeldBackRefusals(on: writer.loop)
        self.limits = limits
        self.metrics = metrics
        state = TracedLock(
            State(
                failures: FailedAttempts(now: .now()),
                rates: RequestRates(perSecond: limits.requestsPerKeyAndSecondMax)))
    }

    func add(to routes: inout HTTPRoutes) {
        routes.onDeferred(.post, "/v1/reports", bodyBytesMax: GatewayLimits.bodyBytesMax) { request, reply in
            self.answer(request, reply)
        }
    }

    private func answer(_ request: HTTPRequest, _ reply: HTTPReply) {
        guard let view = catalog.view else { return turnAway(reply, Unavailable.notReady) }
        let access = view.access(Credentials.key(in: request.headers), for: .report, now: .now())
        guard case .granted(let key, let app) = access else {
            return refuse(access, request.peer, reply)
        }
        if let wait = take(key, view) {
            metrics.limited.add()
            return reply.send(
                Unavailable.limited(perSecond: limits.requestsPerKeyAndSecondMax, waitMilliseconds: wait))
        }
        if let encoding = request.headers["content-encoding"], encoding.lowercased() != "identity" {
            let message = "send the body as it is, not as \(encoding)"
            return reply.send(.error(415, "encoding_not_supported", message))
        }
        guard reach.isReachable(at: .now()) else { return turnAway(reply, Unavailable.unreachable) }
        if !writer.take(request.body, for: app, as: key.role, reply) {
            turnAway(reply, Unavailable.overloaded)
        }
    }

    private func take(_ key: APIKey, _ view: CatalogView) -> Int? {
        state.withLock { state in
            if state.rates.count > 2 * view.keys.count { state.rates.keep { view.keys[$0] != nil } }
            return state.rates.take(key.id, now: .now())
        }
    }

    /// Whoever shows no good key waits the longer the more often; all reasons alike, 403 included.
    private func refuse(_ access: Access, _ peer: String, _ reply: HTTPReply) {
        guard let (reason, response) = Credentials.refusal(access) else { return }
        metrics.refusedKey(reason)
        let delay = state.withLock { $0.failures.failed(PeerNetwork.of(peer), now: .now()) }
        if delay == 0 { return reply.send(response) }
        heldBack.answer(reply, response, afterMilliseconds: delay)
    }

    private func turnAway(_ reply: HTTPReply, _ response: HTTPResponse) {
        metrics.turnedAway.add()
        reply.send(response)
    }
}
