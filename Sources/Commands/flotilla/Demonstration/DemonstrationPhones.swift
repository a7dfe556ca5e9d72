internal import APNsSimulator
internal import Catalog
internal import CatalogRecords
internal import Gateway
internal import Kafka
internal import Lifecycle
internal import Settings
internal import StageSupport
internal import Telemetry

/// The app of the demonstration and its phones. They report to this process's gateway, and a simulated APNs
/// takes the place of Apple's.
final class DemonstrationPhones: Service {
    private static let catalogTimeoutMilliseconds = 30_000

    let name = "demonstration-phones"
    private let dataDirectory: String
    private let settings: ResolvedSettings
    private let environment: StageEnvironment
    private let gateway: GatewayService
    private let started = StartedParts<RunningParts>()

    /// The parts that the demonstration uses while the phones run.
    struct RunningParts: Sendable {
        let simulator: SimulatorService
        let connectionInfo: SimulatorConnectionInfo
        /// The API key of the backend.
        let sendKey: String
    }

    init(
        dataDirectory: String, settings: ResolvedSettings, in environment: StageEnvironment,
        gateway: GatewayService
    ) {
        self.dataDirectory = dataDirectory
        self.settings = settings
        self.environment = environment
        self.gateway = gateway
    }

    /// The running parts, or nil before `start` has returned.
    var parts: RunningParts? { started.parts }

    func start(_ context: ServiceContext) async throws {
        let directory = try DataDirectory.create(at: dataDirectory + "/apns-simulator")
        let credentials = try SimulatorCredentials(directory: directory)
        let app = DemonstrationApp(keyID: credentials.keyID, at: .now())
        try app.addToCatalog(
            kafka: environment.cluster.settings, layout: environment.layout, metrics: context.metrics,
            at: .now())
        try await waitForCatalogKeys(of: app)
        guard let address = gateway.address else {
            throw CommandError(status: .unavailable, "the gateway does not serve")
        }
        var settings = settings[SimulatorCommandSettings.self].serviceSettings(
            directory: directory, kafka: environment.cluster.settings)
        settings.phones = DemonstrationApp.population
        // A short time, because a person waits for the result.
        settings.phoneSettings.updateTokenMilliseconds = 50...200
        let target = ReportPoster.Target(host: address.host, port: address.port, key: app.reportKey.text)
        settings.reportSink = { loop, context in ReportPoster(to: target, on: loop, log: context.log) }
        let found = TracedLock<SimulatorConnectionInfo?>(nil)
        let simulator = SimulatorService(settings: settings) { serving in found.withLock { $0 = serving } }
        try await simulator.start(context)
        guard let serving = found.withLock({ $0 }) else {
            preconditionFailure("a simulator that has started serves")
        }
        environment.embeddedSimulator?.publish(
            EmbeddedAPNsSimulator.AccessDetails(
                host: "localhost", productionPort: serving.ports.production,
                sandboxPort: serving.ports.sandbox, authorityFile: serving.authorityFile,
                teamID: serving.teamID, keyID: serving.keyID, keyFile: serving.keyFile))
        started.set(RunningParts(simulator: simulator, connectionInfo: serving, sendKey: app.sendKey.text))
    }

    func stop(by deadline: Instant) async { await started.take()?.simulator.stop(by: deadline) }

    private func waitForCatalogKeys(of app: DemonstrationApp) async throws {
        let limit = Instant.now().advanced(byMilliseconds: Self.catalogTimeoutMilliseconds)
        let isKnown = { [environment] in
            let keys = environment.catalog?.keys
            return keys?[app.reportKey.key.id] != nil && keys?[app.sendKey.key.id] != nil
        }
        while !isKnown() {
            guard Instant.now() < limit else {
                throw CommandError(
                    status: .unavailable,
                    "the catalog did not show the demonstration's keys within \(Self.catalogTimeoutMilliseconds / 1000) s"
                )
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
