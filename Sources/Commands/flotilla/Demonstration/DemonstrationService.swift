internal import APNsSimulator
internal import Gateway
internal import Glibc
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The demonstration of `flotilla up --demo`. On the installation that has just started, a backend starts a
/// match for everyone and scores a goal through the gateway, and each simulated phone shows it. Then the
/// service prints commands to try by hand, and a line each time the lock screens change.
final class DemonstrationService: Service {
    /// A step fails if its figure does not change for this long.
    private static let stillMilliseconds = 10_000
    /// The pause between two looks at the lock screens.
    private static let lookMilliseconds = 5

    let name = "demonstration"
    private let data: String
    private let environment: StageEnvironment
    private let stages: [any Stage]
    private let gateway: GatewayService
    private let phones: DemonstrationPhones
    private let backend = StartedParts<DemonstrationBackend>()
    private let watching = StartedParts<Task<Void, Never>>()

    init(
        data: String, in environment: StageEnvironment, stages: [any Stage], gateway: GatewayService,
        phones: DemonstrationPhones
    ) {
        self.data = data
        self.environment = environment
        self.stages = stages
        self.gateway = gateway
        self.phones = phones
    }

    func start(_ context: ServiceContext) async throws {
        guard let phones = phones.parts, let address = gateway.address else {
            preconditionFailure("the demonstration starts after gateway and phones")
        }
        let backend = try DemonstrationBackend(gateway: address, key: phones.sendKey)
        self.backend.set(backend)
        let match = DemonstrationMatch(group: "match-\(WallTime.now().seconds % 100_000)")
        var result = DemonstrationResult(group: match.group)
        result.startable = phones.simulator.startablePhones()
        result.reportSeconds = try await timed { try await reported(match, result.startable, to: backend) }
        result.startSeconds = try await timed {
            _ = try await backend.send(match.start())
            result.screens = try await screens(
                of: match, showing: DemonstrationMatch.kickOff, on: result.startable, phones.simulator)
        }
        result.started = result.count(of: DemonstrationMatch.kickOff)
        result.updateSeconds = try await timed {
            _ = try await backend.send(match.update)
            result.screens = try await screens(
                of: match, showing: DemonstrationMatch.goal, on: result.started, phones.simulator)
        }
        if let shortfall = result.shortfall { throw Refusal(status: .unavailable, shortfall) }
        result.problems = await problems(context.log)
        print(result.text(installation(phones, address)))
        // A reader behind a pipe must see the text now, not when the process ends.
        fflush(nil)
        watching.set(DemonstrationWatch.begin(phones.simulator))
    }

    func stop(by deadline: Instant) async {
        let watching = watching.take()
        watching?.cancel()
        await watching?.value
        backend.take()?.stop()
    }

    /// Returns a line for each stage that does not become ready and for each error that was logged. Some parts
    /// are not on the way of the match, so it can reach its goal without them.
    private func problems(_ log: Log) async -> [String] {
        var stillness = Stillness(limitMilliseconds: Self.stillMilliseconds)
        var obstacles = obstacles
        while !obstacles.isEmpty, !stillness.isOver {
            try? await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
            obstacles = self.obstacles
            stillness.sees(obstacles.count)
        }
        return obstacles
            + log.errors.map { error in
                "\(error.component): \(error.message)" + (error.count > 1 ? " (\(error.count) times)" : "")
            }
    }

    private var obstacles: [String] {
        stages.flatMap { stage in stage.readinessProblems.map { "\(stage.name): \($0)" } }
    }

    private func timed(_ step: () async throws -> Void) async throws -> Double {
        let began = Instant.now()
        try await step()
        return Instant.now().seconds(since: began)
    }

    /// Waits until a dry run counts every phone that can be started.
    private func reported(
        _ match: DemonstrationMatch, _ wanted: Int, to backend: DemonstrationBackend
    ) async throws {
        var stillness = Stillness(limitMilliseconds: Self.stillMilliseconds)
        while true {
            let send = try await backend.send(match.start(isDryRun: true))
            var progress = try await backend.progress(of: send)
            while !progress.isComplete, !stillness.isOver {
                try await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
                progress = try await backend.progress(of: send)
            }
            if progress.isComplete, progress.targeted >= wanted { return }
            stillness.sees(progress.targeted)
            guard !stillness.isOver else {
                throw Refusal(
                    status: .unavailable,
                    """
                    the demonstration did not reach its goal: of \(wanted) phones that can be started, a send to \
                    everyone finds \(progress.targeted) (\(progress.verdict))
                    """)
            }
        }
    }

    /// Returns the lock screens as soon as all show this state, or when nothing has changed for too long.
    private func screens(
        of match: DemonstrationMatch, showing state: String, on wanted: Int, _ simulator: SimulatorService
    ) async throws -> GroupScreens? {
        var stillness = Stillness(limitMilliseconds: Self.stillMilliseconds)
        while true {
            let view = simulator.screens(ofGroup: match.group)
            let count = view?.count(of: state) ?? 0
            stillness.sees(count)
            if count >= wanted || stillness.isOver { return view }
            try await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
        }
    }

    private func installation(
        _ phones: DemonstrationPhones.Running, _ gateway: SocketAddress
    ) -> DemonstrationResult.Installation {
        DemonstrationResult.Installation(
            gateway: gateway.description, broker: environment.cluster.settings.brokers.joined(separator: ","),
            simulator: "localhost:\(phones.serving.ports.production)",
            control: phones.serving.control.description, data: data, key: phones.sendKey)
    }
}
