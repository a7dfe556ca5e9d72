internal import HTTPServer
internal import Kafka
package import Lifecycle
internal import Settings
package import Stages
internal import Telemetry
package import Topics

/// HTTP in, Kafka out: the stage that SDKs talk to. It keeps nothing; any number may run side by side.
package final class GatewayService: Stage {
    private struct Parts {
        let server: HTTPServer
        let writer: ReportWriter
        let reach: KafkaReach
    }

    package static let name = "gateway"
    package static let summary = "takes reports over HTTP"
    package static let topics: [TopicName] = [.catalog, .reports]

    private let settings: GatewaySettings
    private let environment: StageEnvironment
    private let started = Started<Parts>()

    package init(_ settings: GatewaySettings, in environment: StageEnvironment) {
        self.settings = settings
        self.environment = environment
    }

    /// What it is bound to while it serves.
    package var address: SocketAddress? { started.parts?.server.address }

    package var obstacles: [String] {
        guard let parts = started.parts else { return ["the gateway is starting or stopping"] }
        return Self.obstacles(environment, parts.reach)
    }

    private static func obstacles(_ environment: StageEnvironment, _ reach: KafkaReach) -> [String] {
        var obstacles: [String] = []
        if environment.catalog == nil {
            obstacles.append("the catalogue has not been read to its end yet")
        }
        if !reach.isReachable(at: .now()) { obstacles.append("kafka does not answer") }
        return obstacles
    }

    package func start(_ context: ServiceContext) async throws {
        let (kafka, topic) = (environment.cluster.settings, environment.layout.name(.reports))
        let metrics = GatewayMetrics(context.metrics)
        var reach: KafkaReach?
        var writer: ReportWriter?
        do {
            let asking = try KafkaReach(kafka, topic: topic, metrics: context.metrics)
            reach = asking
            let writing = try ReportWriter(
                kafka, topic: topic, sealingKeys: environment.sealingKeys, limits: settings.limits,
                context: context, metrics: metrics, seen: asking.seen)
            writer = writing
            let endpoint = ReportsEndpoint(
                environment, reach: asking, writer: writing, limits: settings.limits,
                clients: ClientAddress(proxies: settings.proxies), metrics: metrics, log: context.log)
            let server = try serve(endpoint, context) { [environment] in
                Self.obstacles(environment, asking)
            }
            started.put(Parts(server: server, writer: writing, reach: asking))
            context.log.info("serving", .field("address", server.address.description))
        } catch {
            await writer?.stop(by: .now())
            reach?.stop()
            throw error
        }
    }

    private func serve(
        _ endpoint: ReportsEndpoint, _ context: ServiceContext, obstacles: @escaping @Sendable () -> [String]
    ) throws -> HTTPServer {
        var routes = HTTPRoutes()
        AdminEndpoints(metrics: context.metrics, obstacles: obstacles).addHealth(to: &routes)
        endpoint.add(to: &routes)
        var http = settings.http
        // What became of a report is known by then.
        http.answerMilliseconds = settings.limits.acknowledgeMilliseconds + 5000
        return try HTTPServer(
            name: Self.name, host: settings.listen.host, port: settings.listen.port, limits: http,
            routes: routes, metrics: context.metrics)
    }

    package func stop(by deadline: Instant) async {
        guard let parts = started.take() else { return }
        await parts.server.stop(by: deadline)
        await parts.writer.stop(by: deadline)
        parts.reach.stop()
    }
}
