package import Lifecycle
internal import Synchronization
internal import Telemetry

/// A listener as a part of a process.
package final class HTTPService: Service {
    package let name: String
    private let host: String
    private let port: Int
    private let limits: HTTPLimits
    private let routes: HTTPRoutes
    private let server = Mutex<HTTPServer?>(nil)

    package init(
        name: String, host: String, port: Int, limits: HTTPLimits = HTTPLimits(), routes: HTTPRoutes
    ) {
        self.name = name
        self.host = host
        self.port = port
        self.limits = limits
        self.routes = routes
    }

    /// What it is bound to while it serves.
    package var address: SocketAddress? { server.withLock { $0?.address } }

    package func start(_ context: ServiceContext) async throws {
        let server = try HTTPServer(
            name: name, host: host, port: port, limits: limits, routes: routes, metrics: context.metrics)
        self.server.withLock { $0 = server }
        context.log.info("listening", .field("address", server.address.description))
    }

    package func stop(by deadline: Instant) async {
        let stopping = server.withLock { server in
            defer { server = nil }
            return server
        }
        await stopping?.stop(by: deadline)
    }
}
