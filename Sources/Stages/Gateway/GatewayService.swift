internal import Catalog
internal import Console
internal import HTTPServer
internal import Kafka
package import Lifecycle
internal import Settings
package import StageSupport
internal import Telemetry
package import Topics

/// The stage that SDKs and backends call: it accepts HTTP and writes to Kafka. It keeps no state, so any
/// number of gateways can run side by side.
package final class GatewayService: Stage {
    /// The parts behind the server. Most of them have their own threads.
    private struct BackgroundParts {
        let writer: ReportWriter
        let worker: RequestWorker
        let lookup: SendLookup
        let deadLetters: DeadLetterService
        let relay: InsightRelay
        let replies: ReplyReader
        let kafkaHealth: KafkaHealth
        let rates: CallerRates
    }

    private struct RunningParts {
        let server: HTTPServer
        let background: BackgroundParts
        /// The patterns of the routes.
        let routes: [String]
    }

    package static let name = "gateway"
    package static let summary = "takes reports and sends over HTTP"
    package static let fileDescriptors = StageFileDescriptors(clients: 5)
    package static let topics: [TopicName] = [
        .catalog, .reports, .sends, .sendsTimed, .schedules, .replies, .timers, .progress, .audit,
        .auditSends, .deadLetters, .members, .superseded,
    ]

    private let settings: GatewaySettings
    private let environment: StageEnvironment
    private let clock: GatewayClock
    private let running = StartedParts<RunningParts>()

    package convenience init(_ settings: GatewaySettings, in environment: StageEnvironment) {
        self.init(settings, in: environment, clock: GatewayClock())
    }

    init(_ settings: GatewaySettings, in environment: StageEnvironment, clock: GatewayClock) {
        self.settings = settings
        self.environment = environment
        self.clock = clock
    }

    /// The address that the server is bound to while it serves.
    package var address: SocketAddress? { running.parts?.server.address }

    /// The routes, such as `POST /v1/sends`.
    var routes: [String] { running.parts?.routes ?? [] }

    package var readinessProblems: [String] {
        guard let parts = running.parts else { return ["the gateway is starting or stopping"] }
        return Self.readinessProblems(of: parts.background, environment: environment)
    }

    private static func readinessProblems(
        of parts: BackgroundParts, environment: StageEnvironment
    ) -> [String] {
        var problems: [String] = []
        if environment.catalog == nil {
            problems.append("the catalog has not been read to its end yet")
        }
        if !parts.kafkaHealth.isReachable(at: .now()) { problems.append("kafka does not answer") }
        if !parts.worker.hasStored {
            problems.append("nothing could be stored yet; check that Kafka has enough in-sync replicas")
        }
        if !parts.replies.isReading {
            problems.append("the replies of scheduler and planner cannot be read yet")
        }
        return problems
    }

    // MARK: Start and stop

    package func start(_ context: ServiceContext) async throws {
        var undo: [() async -> Void] = []
        do {
            let metrics = GatewayMetrics(context.metrics)
            let background = try startBackground(context, metrics: metrics, undo: &undo)
            let routes = makeRoutes(to: background, context: context, metrics: metrics)
            let server = try serve(routes, context: context)
            running.set(RunningParts(server: server, background: background, routes: routes.patterns))
            if settings.certificateFile == nil {
                PlainTextListener.warn(
                    about: settings.listen,
                    remedy:
                        "set gateway.certificate-file and gateway.key-file, put a TLS proxy before the gateway, or use a private network",
                    log: context.log)
            }
            context.log.info("serving", .field("address", server.address.description))
        } catch {
            for step in undo.reversed() { await step() }
            throw error
        }
    }

    /// Starts the parts behind the server. Adds a step to `undo` for each started part, because a later one may
    /// fail.
    private func startBackground(
        _ context: ServiceContext, metrics: GatewayMetrics, undo: inout [() async -> Void]
    ) throws -> BackgroundParts {
        let pendingLimit = PendingRequestLimit(limits: settings.limits)
        let rates = CallerRates(limits: settings.limits)
        metrics.observePending(of: pendingLimit)
        let kafkaHealth = try KafkaHealth(
            environment.cluster.makeQueries(log: context.log, metrics: context.metrics),
            topic: environment.layout.name(of: .reports))
        undo.append { kafkaHealth.stop() }
        let relay = try InsightRelay(
            cluster: environment.cluster, layout: environment.layout, context: context)
        undo.append { relay.stop() }
        let writer = try ReportWriter(
            environment.cluster.settings, topic: environment.layout.name(of: .reports),
            sealingKeys: environment.sealingKeys, limits: settings.limits, rates: rates,
            pendingLimit: pendingLimit, context: context, metrics: metrics, clock: clock,
            findTapOrigin: { relay.findTapOrigin(app: $0, tap: $1, then: $2) }, kafkaHealth: kafkaHealth)
        undo.append { await writer.stop(by: .now()) }
        let worker = try RequestWorker(
            environment, limits: settings.limits, pendingLimit: pendingLimit, rates: rates, context: context,
            metrics: metrics, clock: clock, kafkaHealth: kafkaHealth)
        undo.append { await worker.stop(by: .now()) }
        let lookup = try SendLookup(
            cluster: environment.cluster, layout: environment.layout, context: context)
        undo.append { lookup.stop() }
        let deadLetters = try DeadLetterService(in: environment, log: context.log)
        undo.append { deadLetters.stop() }
        let replies = try ReplyReader(environment, context: context) { worker.handle($0) }
        undo.append { replies.stop() }
        return BackgroundParts(
            writer: writer, worker: worker, lookup: lookup, deadLetters: deadLetters, relay: relay,
            replies: replies, kafkaHealth: kafkaHealth, rates: rates)
    }

    private func makeRoutes(
        to parts: BackgroundParts, context: ServiceContext, metrics: GatewayMetrics
    ) -> HTTPRoutes {
        let authorization = Authorization(
            in: environment, kafkaHealth: parts.kafkaHealth, clock: clock,
            delayedRefusals: DelayedRefusals(on: parts.writer.loop), rates: parts.rates,
            clients: ClientAddressResolver(proxies: settings.proxies), metrics: metrics, log: context.log)
        let (worker, relay) = (parts.worker, parts.relay)
        let lanes = environment.layout.lanes
        var routes = HTTPRoutes()
        AdminEndpoints(metrics: context.metrics) { [environment] in
            Self.readinessProblems(of: parts, environment: environment)
        }.addHealth(to: &routes)
        ReportsEndpoint(authorization: authorization, writer: parts.writer).add(to: &routes)
        SendsEndpoint(
            authorization: authorization, worker: worker, lookup: parts.lookup, relay: relay, lanes: lanes
        ).add(to: &routes)
        InsightEndpoint(authorization: authorization, environment: environment, relay: relay).add(
            to: &routes)
        SchedulesEndpoint(authorization: authorization, worker: worker, lanes: lanes).add(to: &routes)
        UsersEndpoint(authorization: authorization, worker: worker, layout: environment.layout).add(
            to: &routes)
        CatalogEndpoint(authorization: authorization, worker: worker).add(to: &routes)
        let catalogCalls = CatalogCalls(authorization: authorization, worker: worker)
        WebhooksEndpoint(calls: catalogCalls).add(to: &routes)
        KeysEndpoint(calls: catalogCalls).add(to: &routes)
        AppEndpoint(authorization: authorization, worker: worker).add(to: &routes)
        NetmeraEndpoint(authorization: authorization, worker: worker, lanes: lanes).add(to: &routes)
        DeadLettersEndpoint(authorization: authorization, service: parts.deadLetters).add(to: &routes)
        SessionEndpoint(
            authorization: authorization, worker: worker, environment: environment, clock: clock
        ).add(to: &routes)
        ConsolePages.add(to: &routes)
        OpenAPI.add(to: &routes)
        return routes
    }

    private func serve(_ routes: HTTPRoutes, context: ServiceContext) throws -> HTTPServer {
        var http = settings.http
        // A change of the catalog takes longest: its audit record and the change are stored one after the other, and
        // the catalog may be read before and after. The server never gives up before that.
        http.answerMilliseconds =
            2 * settings.limits.acknowledgeMilliseconds + 2 * CatalogReader.readToEndMillisecondsMax + 5000
        return try HTTPServer(
            name: Self.name, host: settings.listen.host, port: settings.listen.port, limits: http,
            tls: try GatewayTLS.make(for: settings, log: context.log), routes: routes,
            metrics: context.metrics
        ) { [log = context.log] note in Self.log(note, to: log) }
    }

    /// Logs an answer that reports a failure, so that a caller's `X-Request-Id` leads to its cause. Equal warnings are
    /// limited, and successes are not logged.
    private static func log(_ note: HTTPAnswerNote, to log: Log) {
        let requestID = LogField.field("requestId", note.requestID)
        let route = LogField.field("route", note.route ?? "none")
        let status = LogField.field("status", note.status)
        switch note.status {
        case 500...: log.warning("a request failed", requestID, route, status)
        case 400...: log.debug("a request was refused", requestID, route, status)
        default: break
        }
    }

    package func stop(by deadline: Instant) async {
        guard let parts = running.take() else { return }
        let background = parts.background
        // The server first, so that no new request reaches the parts behind it.
        await parts.server.stop(by: deadline)
        background.replies.stop()
        await background.worker.stop(by: deadline)
        await background.writer.stop(by: deadline)
        background.lookup.stop()
        background.deadLetters.stop()
        background.relay.stop()
        background.kafkaHealth.stop()
    }
}
