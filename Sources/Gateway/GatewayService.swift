package import Catalog
package import HTTPServer
package import Kafka
package import Lifecycle
internal import Telemetry

/// HTTP in, Kafka out: the stage that SDKs talk to. It keeps nothing; any number may run side by side.
package final class GatewayService: Service {
    package struct Parameters: Sendable {
        package var kafka: KafkaSettings
        /// The topic `reports` with its prefix.
        package var reportsTopic: String
        package var host: String
        package var port: Int
        package var http = HTTPLimits()
        package var limits = GatewayLimits()

        package init(kafka: KafkaSettings, reportsTopic: String, host: String, port: Int) {
            self.kafka = kafka
            self.reportsTopic = reportsTopic
            self.host = host
            self.port = port
        }
    }

    private struct Running {
        let server: HTTPServer
        let writer: ReportWriter
        let reach: KafkaReach
    }

    package let name = "gateway"
    private let parameters: Parameters
    private let catalog: CatalogReader
    private let running = TracedLock(Running?.none)

    /// - Parameter catalog: a service of its own, started before this one.
    package init(_ parameters: Parameters, catalog: CatalogReader) {
        self.parameters = parameters
        self.catalog = catalog
    }

    /// What it is bound to while it serves.
    package var address: SocketAddress? { running.withLock { $0?.server.address } }

    /// Why requests cannot be served now, one sentence each.
    package var obstacles: [String] {
        guard let running = running.withLock({ $0 }) else { return ["the gateway is starting or stopping"] }
        return obstacles(running.reach)
    }

    private func obstacles(_ reach: KafkaReach) -> [String] {
        var obstacles: [String] = []
        if catalog.view == nil { obstacles.append("the catalogue has not been read to its end yet") }
        if !reach.isReachable(at: .now()) { obstacles.append("kafka does not answer") }
        return obstacles
    }

    package func start(_ context: ServiceContext) async throws {
        let metrics = GatewayMetrics(context.metrics)
        let reach = try KafkaReach(
            parameters.kafka, topic: parameters.reportsTopic, metrics: context.metrics)
        let writer: ReportWriter
        do {
            writer = try ReportWriter(
                parameters.kafka, topic: parameters.reportsTopic, limits: parameters.limits,
                context: context, metrics: metrics, seen: reach.seen)
        } catch {
            reach.stop()
            throw error
        }
        do {
            let server = try serve(context, reach, writer, metrics)
            running.withLock { $0 = Running(server: server, writer: writer, reach: reach) }
            context.log.info("serving", .field("address", server.address.description))
        } catch {
            await writer.stop(by: .now())
            reach.stop()
            throw error
        }
    }

    private func serve(
        _ context: ServiceContext, _ reach: KafkaReach, _ writer: ReportWriter, _ metrics: GatewayMetrics
    ) throws -> HTTPServer {
        var routes = HTTPRoutes()
        let endpoints = AdminEndpoints(metrics: context.metrics) { [self] in obstacles(reach) }
        endpoints.addHealth(to: &routes)
        ReportsEndpoint(
            catalog: catalog, reach: reach, writer: writer, limits: parameters.limits, metrics: metrics
        ).add(to: &routes)
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
    }
}
