internal import APNsSimulator
internal import Catalog
internal import CatalogRecords
internal import Gateway
internal import Kafka
internal import Lifecycle
internal import Settings
internal import StageSupport
internal import Telemetry

/// The service with the app and the simulated phones of the demonstration. The phones report to this process's gateway,
/// and a simulated APNs takes the place of Apple's.
final class DemonstrationPhones: Service {
    private static let catalogTimeoutMilliseconds = 30_000
    private static let catalogPollMilliseconds = 10

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

    /// Adds the app to the catalog and starts the simulator. The gateway must serve before.
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
        // A phone yields its update token after a short time, because a person waits for the result.
        settings.phoneSettings.updateTokenMilliseconds = 50...200
        let target = ReportPoster.Target(host: address.host, port: address.port, key: app.reportKey.text)
        settings.reportSink = { loop, context in ReportPoster(to: target, on: loop, log: context.log) }
        let publishedInfo = TracedLock<SimulatorConnectionInfo?>(nil)
        let simulator = SimulatorService(settings: settings) { info in publishedInfo.withLock { $0 = info } }
        try await simulator.start(context)
        guard let connectionInfo = publishedInfo.withLock({ $0 }) else {
            preconditionFailure("a simulator that has started serves")
        }
        environment.embeddedSimulator?.publish(
            EmbeddedAPNsSimulator.AccessDetails(
                host: "localhost", productionPort: connectionInfo.ports.production,
                sandboxPort: connectionInfo.ports.sandbox, authorityFile: connectionInfo.authorityFile,
                teamID: connectionInfo.teamID, keyID: connectionInfo.keyID, keyFile: connectionInfo.keyFile))
        started.set(
            RunningParts(simulator: simulator, connectionInfo: connectionInfo, sendKey: app.sendKey.text))
    }

    func stop(by deadline: Instant) async { await started.take()?.simulator.stop(by: deadline) }

    /// Waits until this process has read the keys from the catalog, so that the gateway accepts them.
    private func waitForCatalogKeys(of app: DemonstrationApp) async throws {
        let deadline = Instant.now().advanced(byMilliseconds: Self.catalogTimeoutMilliseconds)
        let areKeysInCatalog = { [environment] in
            let keys = environment.catalog?.keys
            return keys?[app.reportKey.key.id] != nil && keys?[app.sendKey.key.id] != nil
        }
        while !areKeysInCatalog() {
            guard Instant.now() < deadline else {
                throw CommandError(
                    status: .unavailable,
                    "the catalog did not show the demonstration's keys within \(Self.catalogTimeoutMilliseconds / 1000) s"
                )
            }
            try await Task.sleep(for: .milliseconds(Self.catalogPollMilliseconds))
        }
    }
}
