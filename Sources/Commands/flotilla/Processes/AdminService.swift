internal import HTTPServer
internal import Lifecycle
internal import Settings
internal import StageSupport
internal import Synchronization
internal import Telemetry

/// The HTTP server for an operator's `/metrics`, `/livez` and `/readyz` requests to a process. It is the
/// first service to start and the last to stop, so that an operator can watch both. The process calls
/// `beginServing` when it is ready.
final class AdminService: Service {
    let name = "admin"
    private let listen: HostPort
    private let isServing = Atomic<Bool>(false)
    private let started = StartedParts<HTTPServer>()
    private let stages: [any Stage]

    /// - Parameter stages: The process is not ready while one of these stages reports a readiness problem.
    init(settings: ResolvedSettings, stages: [any Stage] = []) {
        listen = settings[ProcessSettings.self].adminListen
        self.stages = stages
    }

    /// The address of the server, empty before it has started.
    var address: String { started.parts?.address.description ?? "" }

    /// Call this when all services of the process have started.
    func beginServing() { isServing.store(true, ordering: .relaxed) }

    func start(_ context: ServiceContext) async throws {
        let endpoints = AdminEndpoints(metrics: context.metrics) { [self] in
            readinessProblems(metrics: context.metrics)
        }
        var routes = HTTPRoutes()
        endpoints.add(to: &routes)
        let server = try HTTPServer(name: "admin", host: listen.host, port: listen.port, routes: routes)
        context.log.info("serving", .field("address", server.address.description))
        started.set(server)
    }

    /// Returns a line for each reason that `/readyz` answers with "not ready".
    private func readinessProblems(metrics: Metrics) -> [String] {
        guard isServing.load(ordering: .relaxed) else { return ["the process is starting or stopping"] }
        let kafkaProblem = KafkaReadiness.problem(in: metrics).map { [$0] } ?? []
        return kafkaProblem
            + stages.flatMap { stage in stage.readinessProblems.map { "\(stage.name): \($0)" } }
    }

    func stop(by deadline: Instant) async {
        isServing.store(false, ordering: .relaxed)
        await started.take()?.stop(by: deadline)
    }
}
