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
    private struct RunningParts {
        let server: HTTPServer
        let writer: ReportWriter
        let worker: RequestWorker
        let lookup: SendLookup
        let deadLetters: DeadLetterService
        let relay: InsightRelay
        let replies: ReplyReader
        let kafkaHealth: KafkaHealth
        let routes: [String]
    }

    package static let name = "gateway"
    package static let summary = "takes reports and sends over HTTP"
    package static let fileDescriptors = StageFileDescriptors(clients: 5)
    package static let topics: [TopicName] = [
        .catalog, .reports, .sends, .sendsTimed, .schedules, .replies, .timers, .progress, .audit,
        .deadLetters, .members,
    ]

    private let settings: GatewaySettings
    private let environment: StageEnvironment
    private let running = StartedParts<RunningParts>()

    private let clock: GatewayClock

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

    package var readinessProblems: [String] {
        guard let parts = running.parts else { return ["the gateway is starting or stopping"] }
        return Self.readinessProblems(
            environment: environment, kafkaHealth: parts.kafkaHealth, hasStored: parts.worker.hasStored,
            isReadingReplies: parts.replies.isReading)
    }

    private static func readinessProblems(
        environment: StageEnvironment, kafkaHealth reach: KafkaHealth, hasStored: Bool, isReadingReplies: Bool
    ) -> [String] {
        var problems: [String] = []
        if environment.catalog == nil {
            problems.append("the catalog has not been read to its end yet")
        }
        if !reach.isReachable(at: .now()) { problems.append("kafka does not answer") }
        if !hasStored {
            problems.append("nothing could be stored yet; check that Kafka has enough in-sync replicas")
        }
        if !isReadingReplies { problems.append("the scheduler's replies cannot be read yet") }
        return problems
    }

    /// The routes, such as `POST /v1/sends`.
    var routes: [String] { running.parts?.routes ?? [] }

    package func start(_ context: ServiceContext) async throws {
        let metrics = GatewayMetrics(context.metrics)
        let pendingLimit = PendingRequestLimit(limits: settings.limits)
        metrics.observePending(of: pendingLimit)
        var undo: [() async -> Void] = []
        do {
            let kafkaHealth = try KafkaHealth(
                settings: environment.cluster.settings, topic: environment.layout.name(of: .reports),
                metrics: context.metrics)
            undo.append { kafkaHealth.stop() }
            let writer = try ReportWriter(
                environment.cluster.settings, topic: environment.layout.name(of: .reports),
                sealingKeys: environment.sealingKeys, limits: settings.limits, pendingLimit: pendingLimit,
                context: context, metrics: metrics, clock: clock,
                seen: { kafkaHealth.recordAnswer(at: .now()) })
            undo.append { await writer.stop(by: .now()) }
            let worker = try RequestWorker(
                environment, limits: settings.limits, pendingLimit: pendingLimit, context: context,
                metrics: metrics, clock: clock, seen: { kafkaHealth.recordAnswer(at: .now()) })
            undo.append { await worker.stop(by: .now()) }
            let lookup = try SendLookup(
                cluster: environment.cluster, layout: environment.layout, context: context)
            undo.append { lookup.stop() }
            let deadLetters = try DeadLetterService(in: environment, log: context.log)
            undo.append { deadLetters.stop() }
            let relay = try InsightRelay(in: environment, context: context)
            undo.append { relay.stop() }
            let replies = try ReplyReader(environment, context: context) { worker.handle($0) }
            undo.append { replies.stop() }
            let authorization = Authorization(
                in: environment, kafkaHealth: kafkaHealth, clock: clock,
                delayedRefusals: DelayedRefusals(on: writer.loop),
                limits: settings.limits, clients: ClientAddressResolver(proxies: settings.proxies),
                metrics: metrics, log: context.log)
            let routes = makeRoutes(
                authorization: authorization, reports: writer, requests: worker, lookup: lookup,
                deadLetters: deadLetters, relay: relay,
                metrics: context.metrics
            ) { [environment] in
                Self.readinessProblems(
                    environment: environment, kafkaHealth: kafkaHealth, hasStored: worker.hasStored,
                    isReadingReplies: replies.isReading)
            }
            let server = try serve(routes, context: context)
            running.set(
                RunningParts(
                    server: server, writer: writer, worker: worker, lookup: lookup,
                    deadLetters: deadLetters, relay: relay, replies: replies, kafkaHealth: kafkaHealth,
                    routes: routes.patterns))
            context.log.info("serving", .field("address", server.address.description))
        } catch {
            for step in undo.reversed() { await step() }
            throw error
        }
    }

    private func makeRoutes(
        authorization entrance: Authorization, reports writer: ReportWriter, requests worker: RequestWorker,
        lookup: SendLookup, deadLetters: DeadLetterService, relay: InsightRelay, metrics: Metrics,
        readinessProblems: @escaping @Sendable () -> [String]
    ) -> HTTPRoutes {
        var routes = HTTPRoutes()
        AdminEndpoints(metrics: metrics, readinessProblems: readinessProblems).addHealth(to: &routes)
        let lanes = environment.layout.lanes
        ReportsEndpoint(authorization: entrance, writer: writer).add(to: &routes)
        SendsEndpoint(authorization: entrance, worker: worker, lookup: lookup, relay: relay, lanes: lanes)
            .add(to: &routes)
        InsightEndpoint(authorization: entrance, relay: relay).add(to: &routes)
        SchedulesEndpoint(authorization: entrance, worker: worker, lanes: lanes).add(to: &routes)
        UsersEndpoint(authorization: entrance, worker: worker).add(to: &routes)
        CatalogEndpoint(authorization: entrance, worker: worker).add(to: &routes)
        NetmeraEndpoint(authorization: entrance, worker: worker, lanes: lanes).add(to: &routes)
        DeadLettersEndpoint(authorization: entrance, service: deadLetters).add(to: &routes)
        SessionEndpoint(authorization: entrance, worker: worker, environment: environment, clock: clock).add(
            to: &routes)
        ConsolePages.add(to: &routes)
        OpenAPI.add(to: &routes)
        return routes
    }

    private func serve(_ routes: HTTPRoutes, context: ServiceContext) throws -> HTTPServer {
        var http = settings.http
        // Every outcome is known within this time, also after a read of the catalog. So the server never
        // gives up first.
        http.answerMilliseconds =
            2 * settings.limits.acknowledgeMilliseconds + 2 * CatalogReader.readToEndMillisecondsMax + 5000
        return try HTTPServer(
            name: Self.name, host: settings.listen.host, port: settings.listen.port, limits: http,
            routes: routes, metrics: context.metrics)
    }

    package func stop(by deadline: Instant) async {
        guard let parts = running.take() else { return }
        await parts.server.stop(by: deadline)
        parts.replies.stop()
        await parts.worker.stop(by: deadline)
        await parts.writer.stop(by: deadline)
        parts.lookup.stop()
        parts.deadLetters.stop()
        parts.relay.stop()
        parts.kafkaHealth.stop()
    }
}
