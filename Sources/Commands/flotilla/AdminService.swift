internal import HTTPServer
internal import Lifecycle
internal import Settings
internal import StageSupport
internal import Synchronization
internal import Telemetry

/// The service that answers `/metrics`, `/livez` and `/readyz` of a process. It is the first service to start
/// and the last to stop, so that an operator can watch both. The process reports when it is ready.
final class AdminService: Service {
    let name = "admin"
    private let listen: HostPort
    private let isServing = Atomic<Bool>(false)
    private let started = StartedParts<HTTPServer>()
    private let stages: [any Stage]

    /// - Parameter stages: The process is not ready while one of these stages reports an obstacle.
    init(settings: ResolvedSettings, stages: [any Stage] = []) {
        listen = settings[ProcessSettings.self].adminListen
        self.stages = stages
    }

    /// The address that it serves, empty before it has started.
    var address: String { started.parts?.address.description ?? "" }

    /// Call this when all services of the process have started.
    func beginServing() { isServing.store(true, ordering: .relaxed) }

    func start(_ context: ServiceContext) async throws {
        let endpoints = AdminEndpoints(metrics: context.metrics) { [self] in
            guard isServing.load(ordering: .relaxed) else { return ["the process is starting or stopping"] }
            return (KafkaReadiness.problem(in: context.metrics).map { [$0] } ?? [])
                + stages.flatMap { stage in stage.readinessProblems.map { "\(stage.name): \($0)" } }
        }
        var routes = HTTPRoutes()
        endpoints.add(to: &routes)
        let server = try HTTPServer(name: "admin", host: listen.host, port: listen.port, routes: routes)
        context.log.info("serving", .field("address", server.address.description))
        started.set(server)
    }

    func stop(by deadline: Instant) async {
        isServing.store(false, ordering: .relaxed)
        await started.take()?.stop(by: deadline)
    }
}
