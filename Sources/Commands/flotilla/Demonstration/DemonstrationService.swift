internal import APNsSimulator
internal import Gateway
internal import Glibc
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The demonstration of `flotilla up --demo`. Through the gateway that has just started, a backend starts a match for
/// everyone and scores a goal, and each simulated phone shows it. Then the service prints commands to try by hand, and a
/// line each time the lock screens change.
final class DemonstrationService: Service {
    /// A step waits for a number of phones or stages. It fails if the number does not change for this long.
    private static let stallMilliseconds = 10_000
    /// The pause between two checks of the number.
    private static let pollMilliseconds = 5

    let name = "demonstration"
    private let dataDirectory: String
    private let environment: StageEnvironment
    private let stages: [any Stage]
    private let gateway: GatewayService
    private let phones: DemonstrationPhones
    // Set in `start` and taken in `stop`.
    private let backend = StartedParts<DemonstrationBackend>()
    private let monitorTask = StartedParts<Task<Void, Never>>()

    init(
        dataDirectory: String, in environment: StageEnvironment, stages: [any Stage], gateway: GatewayService,
        phones: DemonstrationPhones
    ) {
        self.dataDirectory = dataDirectory
        self.environment = environment
        self.stages = stages
        self.gateway = gateway
        self.phones = phones
    }

    /// Plays the match and prints the result. Throws if not every phone showed it.
    func start(_ context: ServiceContext) async throws {
        guard let phones = phones.parts, let address = gateway.address else {
            preconditionFailure("the demonstration starts after gateway and phones")
        }
        let backend = try DemonstrationBackend(gateway: address, key: phones.sendKey)
        self.backend.set(backend)
        let match = DemonstrationMatch(group: "match-\(WallTime.now().seconds % 100_000)")
        var result = DemonstrationResult(group: match.group)
        result.startableCount = phones.simulator.startablePhones()
        result.reportSeconds = try await measureSeconds {
            try await waitUntilStart(of: match, reaches: result.startableCount, through: backend)
        }
        result.startSeconds = try await measureSeconds {
            _ = try await backend.postSend(body: match.start())
            result.screens = try await waitForLockScreens(
                of: match, showing: DemonstrationMatch.kickOffState, on: result.startableCount,
                in: phones.simulator)
        }
        result.startedCount = result.count(of: DemonstrationMatch.kickOffState)
        result.updateSeconds = try await measureSeconds {
            _ = try await backend.postSend(body: match.update)
            result.screens = try await waitForLockScreens(
                of: match, showing: DemonstrationMatch.goalState, on: result.startedCount,
                in: phones.simulator)
        }
        if let shortfall = result.shortfall { throw CommandError(status: .unavailable, shortfall) }
        result.problems = await collectProblems(from: context.log)
        print(result.text(for: connectionDetails(phones: phones, gateway: address)))
        // A reader behind a pipe must see the text now, not when the process ends.
        fflush(nil)
        monitorTask.set(LockScreenMonitor.start(on: phones.simulator))
    }

    func stop(by deadline: Instant) async {
        let stoppedMonitor = monitorTask.take()
        stoppedMonitor?.cancel()
        await stoppedMonitor?.value
        backend.take()?.stop()
    }

    /// Waits until all stages are ready. Returns a line for each stage that does not become ready and for
    /// each error that was logged. The match does not use some parts, such as the insight stage, so it can
    /// succeed without them.
    private func collectProblems(from log: Log) async -> [String] {
        var stallDetector = StallDetector(limitMilliseconds: Self.stallMilliseconds)
        var problems = readinessProblems
        while !problems.isEmpty, !stallDetector.isStalled {
            try? await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
            problems = readinessProblems
            stallDetector.record(problems.count)
        }
        return problems
            + log.errors.map { error in
                "\(error.component): \(error.message)" + (error.count > 1 ? " (\(error.count) times)" : "")
            }
    }

    private var readinessProblems: [String] {
        stages.flatMap { stage in stage.readinessProblems.map { "\(stage.name): \($0)" } }
    }

    private func measureSeconds(of step: () async throws -> Void) async throws -> Double {
        let startedAt = Instant.now()
        try await step()
        return Instant.now().seconds(since: startedAt)
    }

    /// Sends dry runs of the start until one counts every phone that can be started, so that all phones are registered.
    private func waitUntilStart(
        of match: DemonstrationMatch, reaches phoneCount: Int, through backend: DemonstrationBackend
    ) async throws {
        var stallDetector = StallDetector(limitMilliseconds: Self.stallMilliseconds)
        while true {
            let send = try await backend.postSend(body: match.start(isDryRun: true))
            var progress = try await backend.progress(of: send)
            while !progress.isComplete, !stallDetector.isStalled {
                try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
                progress = try await backend.progress(of: send)
            }
            if progress.isComplete, progress.targeted >= phoneCount { return }
            stallDetector.record(progress.targeted)
            guard !stallDetector.isStalled else {
                throw CommandError(
                    status: .unavailable,
                    """
                    the demonstration did not reach its goal: of \(phoneCount) phones that can be started, a send to \
                    everyone finds \(progress.targeted) (\(progress.verdict))
                    """)
            }
        }
    }

    /// Returns the lock screens as soon as this many show the state, or when the number has not changed for too long.
    private func waitForLockScreens(
        of match: DemonstrationMatch, showing state: String, on phoneCount: Int,
        in simulator: SimulatorService
    ) async throws -> GroupScreens? {
        var stallDetector = StallDetector(limitMilliseconds: Self.stallMilliseconds)
        while true {
            let screens = simulator.screens(ofGroup: match.group)
            let showingCount = screens?.count(of: state) ?? 0
            stallDetector.record(showingCount)
            if showingCount >= phoneCount || stallDetector.isStalled { return screens }
            try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
        }
    }

    private func connectionDetails(
        phones: DemonstrationPhones.RunningParts, gateway: SocketAddress
    ) -> DemonstrationResult.ConnectionDetails {
        DemonstrationResult.ConnectionDetails(
            gateway: gateway.description, broker: environment.cluster.settings.brokers.joined(separator: ","),
            simulator: "localhost:\(phones.connectionInfo.ports.production)",
            control: phones.connectionInfo.controlAddress.description, data: dataDirectory,
            key: phones.sendKey)
    }
}
