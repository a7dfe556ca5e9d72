internal import Catalog
package import HTTPServer
package import Kafka
package import Lifecycle
package import LiveActivity
internal import Telemetry
package import Topics

/// HTTP in, Kafka out: the stage that SDKs talk to. It keeps nothing; any number may run side by side.
package final class GatewayService: Stage {
    package struct Parameters: Sendable {
        package var host: String
        package var port: Int
        package var http = HTTPLimits()
        package var limits = GatewayLimits()
        /// Whose `X-Forwarded-For` is believed.
        package var proxies: [AddressRange] = []
        /// Nil writes tokens in the clear.
        package var sealingKeys: SealingKeys?

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    private struct Running {
        let catalog: CatalogReader
        let server: HTTPServer
        let writer: ReportWriter
        let reach: KafkaReach
    }

    package let name = "gateway"
    private let parameters: Parameters
    private let kafka: @Sendable () -> KafkaSettings
    private let layout: TopicLayout
    private let running = TracedLock(Running?.none)

    /// - Parameter kafka: asked at start.
    package init(
        _ parameters: Parameters, kafka: @escaping @Sendable () -> KafkaSettings, layout: TopicLayout
    ) {
        self.parameters = parameters
        self.kafka = kafka
        self.layout = layout
    }

    /// What it is bound to while it serves.
    package var address: SocketAddress? { running.withLock { $0?.server.address } }

    package var obstacles: [String] {
        guard let running = running.withLock({ $0 }) else { return ["the gateway is starting or stopping"] }
        return Self.obstacles(running.catalog, running.reach)
    }

    private static func obstacles(_ catalog: CatalogReader, _ reach: KafkaReach) -> [String] {
        var obstacles: [String] = []
        if catalog.view == nil { obstacles.append("the catalogue has not been read to its end yet") }
        if !reach.isReachable(at: .now()) { obstacles.append("kafka does not answer") }
        return obstacles
    }

    package func start(_ context: ServiceContext) async throws {
        let (kafka, topic) = (kafka(), layout.name(.reports))
        let metrics = GatewayMetrics(context.metrics)
        let catalog = CatalogReader(kafka, topic: layout.name(.catalog))
        try await catalog.start(context)
        var reach: KafkaReach?
        var writer: ReportWriter?
        do {
            let asking = try KafkaReach(kafka, topic: topic, metrics: context.metrics)
            reach = asking
            let writing = try ReportWriter(
                kafka, topic: topic, sealingKeys: parameters.sealingKeys, limits: parameters.limits,
                context: context, metrics: metrics, seen: asking.seen)
            writer = writing
            let endpoint = ReportsEndpoint(
                catalog: catalog, reach: asking, writer: writing, limits: parameters.limits,
                clients: ClientAddress(proxies: parameters.proxies), metrics: metrics, log: context.log)
            let server = try serve(endpoint, context) { Self.obstacles(catalog, asking) }
            running.withLock {
                $0 = Running(catalog: catalog, server: server, writer: writing, reach: asking)
            }
            context.log.info("serving", .field("address", server.address.description))
        } catch {
            await writer?.stop(by: .now())
            reach?.stop()
            await catalog.stop(by: .now())
            throw error
        }
    }

    private func serve(
        _ endpoint: ReportsEndpoint, _ context: ServiceContext, obstacles: @escaping @Sendable () -> [String]
    ) throws -> HTTPServer {
        var routes = HTTPRoutes()
        AdminEndpoints(metrics: context.metrics, obstacles: obstacles).addHealth(to: &routes)
        endpoint.add(to: &routes)
        var http = parameters.http
        // What became of a report is known by then.
        http.answerMilliseconds = parameters.limits.acknowledgeMilliseconds + 5000
        return try HTTPServer(
            name: "gateway", host: parameters.host, port: parameters.port, limits: http, routes: routes,
            metrics: context.metrics)
    }

    package func stop(by deadline: Instant) async {
        let stopping = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let stopping else { return }
        await stopping.server.stop(by: deadline)
        await stopping.writer.stop(by: deadline)
        stopping.reach.stop()
        await stopping.catalog.stop(by: deadline)
    }
}
