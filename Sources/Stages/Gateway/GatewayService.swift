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
    private struct Parts {
        let server: HTTPServer
        let writer: ReportWriter
        let worker: RequestWorker
        let lookup: SendLookup
        let letters: LetterDesk
        let relay: InsightRelay
        let replies: ReplyReader
        let reach: KafkaReach
        let routes: [String]
    }

    package static let name = "gateway"
    package static let summary = "takes reports and sends over HTTP"
    package static let descriptors = StageDescriptors(clients: 5)
    package static let topics: [TopicName] = [
        .catalog, .reports, .sends, .sendsTimed, .schedules, .replies, .timers, .progress, .audit,
        .deadLetters, .members,
    ]

    private let settings: GatewaySettings
    private let environment: StageEnvironment
    private let started = Started<Parts>()

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
    package var address: SocketAddress? { started.parts?.server.address }

    package var obstacles: [String] {
        guard let parts = started.parts else { return ["the gateway is starting or stopping"] }
        return Self.obstacles(
            environment, parts.reach, hasStored: parts.worker.hasStored, hears: parts.replies.hasBegun)
    }

    private static func obstacles(
        _ environment: StageEnvironment, _ reach: KafkaReach, hasStored: Bool, hears: Bool
    ) -> [String] {
        var obstacles: [String] = []
        if environment.catalog == nil {
            obstacles.append("the catalog has not been read to its end yet")
        }
        if !reach.isReachable(at: .now()) { obstacles.append("kafka does not answer") }
        if !hasStored {
            obstacles.append("nothing could be stored yet; check that Kafka has enough in-sync replicas")
        }
        if !hears { obstacles.append("the scheduler's replies cannot be read yet") }
        return obstacles
    }

    /// The routes, such as `POST /v1/sends`.
    var routes: [String] { started.parts?.routes ?? [] }

    package func start(_ context: ServiceContext) async throws {
        let metrics = GatewayMetrics(context.metrics)
        let waitingRoom = WaitingRoom(settings.limits)
        metrics.watch(waitingRoom)
        var undo: [() async -> Void] = []
        do {
            let reach = try KafkaReach(
                environment.cluster.settings, topic: environment.layout.name(.reports),
                metrics: context.metrics)
            undo.append { reach.stop() }
            let writer = try ReportWriter(
                environment.cluster.settings, topic: environment.layout.name(.reports),
                sealingKeys: environment.sealingKeys, limits: settings.limits, waitingRoom: waitingRoom,
                context: context, metrics: metrics, clock: clock,
                seen: { reach.seen(at: .now()) })
            undo.append { await writer.stop(by: .now()) }
            let worker = try RequestWorker(
                environment, limits: settings.limits, waitingRoom: waitingRoom, context: context,
                metrics: metrics, clock: clock, seen: { reach.seen(at: .now()) })
            undo.append { await worker.stop(by: .now()) }
            let lookup = try SendLookup(
                environment.cluster, layout: environment.layout, context: context)
            undo.append { lookup.stop() }
            let letters = try LetterDesk(environment, log: context.log)
            undo.append { letters.stop() }
            let relay = try InsightRelay(environment, context: context)
            undo.append { relay.stop() }
            let replies = try ReplyReader(environment, context: context) { worker.heard($0) }
            undo.append { replies.stop() }
            let entrance = Entrance(
                environment, reach: reach, clock: clock, heldBack: HeldBackRefusals(on: writer.loop),
                limits: settings.limits, clients: ClientAddress(proxies: settings.proxies),
                metrics: metrics, log: context.log)
            let routes = routes(
                entrance, reports: writer, requests: worker, lookup: lookup, letters: letters, relay: relay,
                metrics: context.metrics
            ) { [environment] in
                Self.obstacles(
                    environment, reach, hasStored: worker.hasStored, hears: replies.hasBegun)
            }
            let server = try serve(routes, context)
            started.put(
                Parts(
                    server: server, writer: writer, worker: worker, lookup: lookup,
                    letters: letters, relay: relay, replies: replies, reach: reach, routes: routes.patterns))
            context.log.info("serving", .field("address", server.address.description))
        } catch {
            for step in undo.reversed() { await step() }
            throw error
        }
    }

    private func routes(
        _ entrance: Entrance, reports writer: ReportWriter, requests worker: RequestWorker,
        lookup: SendLookup, letters: LetterDesk, relay: InsightRelay, metrics: Metrics,
        obstacles: @escaping @Sendable () -> [String]
    ) -> HTTPRoutes {
        var routes = HTTPRoutes()
        AdminEndpoints(metrics: metrics, obstacles: obstacles).addHealth(to: &routes)
        let lanes = environment.layout.lanes
        ReportsEndpoint(entrance: entrance, writer: writer).add(to: &routes)
        SendsEndpoint(entrance: entrance, worker: worker, lookup: lookup, relay: relay, lanes: lanes)
            .add(to: &routes)
        InsightEndpoint(entrance: entrance, relay: relay).add(to: &routes)
        SchedulesEndpoint(entrance: entrance, worker: worker, lanes: lanes).add(to: &routes)
        UsersEndpoint(entrance: entrance, worker: worker).add(to: &routes)
        CatalogEndpoint(entrance: entrance, worker: worker).add(to: &routes)
        NetmeraEndpoint(entrance: entrance, worker: worker, lanes: lanes).add(to: &routes)
        LettersEndpoint(entrance: entrance, desk: letters).add(to: &routes)
        SessionEndpoint(entrance: entrance, worker: worker, environment: environment, clock: clock).add(
            to: &routes)
        ConsolePages.add(to: &routes)
        OpenAPI.add(to: &routes)
        return routes
    }

    private func serve(_ routes: HTTPRoutes, _ context: ServiceContext) throws -> HTTPServer {
        var http = settings.http
        // Every outcome is known within this time, also after a read of the catalog. So the server never
        // gives up first.
        http.answerMilliseconds =
            2 * settings.limits.acknowledgeMilliseconds + 2 * CatalogReader.readOnMillisecondsMax + 5000
        return try HTTPServer(
            name: Self.name, host: settings.listen.host, port: settings.listen.port, limits: http,
            routes: routes, metrics: context.metrics)
    }

    package func stop(by deadline: Instant) async {
        guard let parts = started.take() else { return }
        await parts.server.stop(by: deadline)
        parts.replies.stop()
        await parts.worker.stop(by: deadline)
        await parts.writer.stop(by: deadline)
        parts.lookup.stop()
        parts.letters.stop()
        parts.relay.stop()
        parts.reach.stop()
    }
}
