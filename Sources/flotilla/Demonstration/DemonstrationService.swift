internal import APNs
internal import APNsSimulator
internal import Catalog
internal import Cryptography
internal import Foundation
internal import Gateway
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Registry
internal import Settings
internal import Stages
internal import TLS
internal import Telemetry

/// What `flotilla up --demo` shows, on the installation that it has just started: simulated phones report
/// through the gateway, ingest makes a registry of it, and a start and an update reach every lock screen
/// over the APNs simulator. It does not send as a backend would: it walks the registry and pushes by
/// itself, with the parts that fan-out and sender are made of, and says so.
///
/// `@unchecked Sendable`: `running` is written by `start` and `stop`, which the process calls one after
/// the other, and read by nobody else.
final class DemonstrationService: Service, @unchecked Sendable {
    /// One step: phones that report, pushes that arrive.
    private static let stepMilliseconds = 30_000

    let name = "demonstration"
    private let data: String
    private let settings: ResolvedSettings
    private let environment: StageEnvironment
    private let gateway: GatewayService
    private let admin: AdminService
    private var running = Parts()

    private struct Parts {
        var simulator: SimulatorService?
        var loop: EventLoop?
        var pusher: DemonstrationPusher?
    }

    init(
        data: String, _ settings: ResolvedSettings, in environment: StageEnvironment, gateway: GatewayService,
        admin: AdminService
    ) {
        self.data = data
        self.settings = settings
        self.environment = environment
        self.gateway = gateway
        self.admin = admin
    }

    func start(_ context: ServiceContext) async throws {
        let directory = try DataDirectory.make(data + "/apns-simulator")
        let credentials = try SimulatorCredentials(directory: directory)
        let demo = DemonstrationApp(keyID: credentials.keyID, at: .now())
        try demo.enter(environment.cluster.settings, environment.layout, metrics: context.metrics, at: .now())
        try await wait("the catalogue did not show the demonstration's key") {
            environment.catalog?.keys[demo.key.id] != nil
        }
        let phones = try await startPhones(demo, directory, context)
        var show = DemonstrationResult(group: "match-\(WallTime.now().seconds % 100_000)")
        let lanes = try DemonstrationLanes(
            environment, directory: data + "/demonstration", metrics: context.metrics)
        defer { try? lanes.close() }
        let pusher = try startPusher(phones, context)

        let starts = Selection(
            app: DemonstrationApp.id, .starts(type: DemonstrationApp.type.name),
            environments: [.production], now: WallTime.now().milliseconds)
        var began = Instant.now()
        show.startable = running.simulator?.startablePhones() ?? 0
        let startTokens = try await tokens(lanes, starts, enough: show.startable, "the phones' start tokens")
        show.reportSeconds = Instant.now().seconds(since: began)
        began = Instant.now()
        let kickOff = WallTime.now().seconds
        show.started = try await push(pusher, .start, "0:0", show.group, at: kickOff, to: startTokens)
        let updates = Selection(
            app: DemonstrationApp.id, .updates(group: show.group), environments: [.production],
            now: WallTime.now().milliseconds)
        let updateTokens = try await tokens(
            lanes, updates, enough: show.started, "the update tokens of the started activities")
        show.startSeconds = Instant.now().seconds(since: began)
        began = Instant.now()
        // A phone ignores what is not newer, and on a fast machine the same second has not passed.
        let goal = max(WallTime.now().seconds, kickOff + 1)
        show.updated = try await push(pusher, .update, "1:0", show.group, at: goal, to: updateTokens)
        show.updateSeconds = Instant.now().seconds(since: began)
        show.screens = running.simulator?.view(group: show.group)
        if let shortfall = show.shortfall { throw Refusal(status: .unavailable, shortfall) }
        print(show.text(installation(phones)))
        // Whoever reads through a pipe shall see it now, and not when the process ends.
        fflush(nil)
    }

    func stop(by deadline: Instant) async {
        let parts = running
        running = Parts()
        if let pusher = parts.pusher { parts.loop?.execute { pusher.stop() } }
        parts.loop?.stop()
        await parts.simulator?.stop(by: deadline)
    }

    // MARK: What it is made of

    private func startPhones(
        _ demo: DemonstrationApp, _ directory: String, _ context: ServiceContext
    ) async throws -> ServingSimulator {
        var settings = settings[SimulatorCommandSettings.self].service(
            directory: directory, kafka: environment.cluster.settings)
        settings.phones = DemonstrationApp.population
        // As impatient as whoever watches.
        settings.phoneSettings.updateTokenMilliseconds = 50...200
        guard let address = gateway.address else {
            throw Refusal(status: .unavailable, "the gateway does not serve")
        }
        let target = ReportPoster.Target(host: address.host, port: address.port, key: demo.keyText)
        settings.reportSink = { loop, context in ReportPoster(to: target, on: loop, log: context.log) }
        let serving = TracedLock<ServingSimulator?>(nil)
        let simulator = SimulatorService(settings) { found in serving.withLock { $0 = found } }
        try await simulator.start(context)
        running.simulator = simulator
        guard let phones = serving.withLock({ $0 }) else {
            preconditionFailure("a simulator that has started serves")
        }
        return phones
    }

    private func startPusher(
        _ phones: ServingSimulator, _ context: ServiceContext
    ) throws -> DemonstrationPusher {
        var settings = APNsSettings()
        settings.trust = .authorities(.file(phones.authorityFile))
        settings.production.push = Endpoint(host: "localhost", port: phones.ports.production)
        let key = ProviderKeyName(teamID: phones.teamID, keyID: phones.keyID)
        let tokens = ProviderTokens(.files([key: phones.keyFile]), metrics: context.metrics)
        tokens.reload()
        let provider = try Provider(settings, tokens: tokens, metrics: context.metrics, log: context.log)
        let loop = try EventLoop(name: "demonstration")
        try loop.start()
        let pusher = DemonstrationPusher(
            PushProfile(environment: .production, bundleID: DemonstrationApp.bundleID, key: key))
        running.loop = loop
        running.pusher = pusher
        loop.execute { pusher.begin(provider, on: loop) }
        return pusher
    }

    // MARK: What it does

    /// Reads the registry until a selection has enough tokens.
    private func tokens(
        _ lanes: DemonstrationLanes, _ selection: Selection, enough: Int, _ what: String
    ) async throws -> [PushToken] {
        var found: [PushToken] = []
        try await wait("the registry did not show \(what)") {
            try lanes.advance(milliseconds: 20)
            found = try lanes.tokens(selection)
            return found.count >= enough
        }
        return found
    }

    private func push(
        _ pusher: DemonstrationPusher, _ event: PushEvent, _ score: String, _ group: String,
        at timestamp: Int64, to tokens: [PushToken]
    ) async throws -> Int {
        let goals = score.split(separator: ":")
        var content = PushContent(event)
        content.contentState = try json(#"{"home":\#(goals[0]),"away":\#(goals[1])}"#)
        if event == .start {
            content.attributesType = DemonstrationApp.type.name
            content.attributes = try json(#"{"home":"Larks","away":"Terns"}"#)
            content.alert = Alert(title: .plain("Kick-off"), body: .plain("Larks against Terns"))
        }
        let body = PayloadBuilder.body(
            content, timestamp: timestamp,
            group: event == .start
                ? GroupAttribute(name: DemonstrationApp.type.groupAttribute, group: group) : nil)
        guard let loop = running.loop else { return 0 }
        return await withCheckedContinuation { continuation in
            loop.execute {
                pusher.push(body, to: tokens, at: timestamp) { continuation.resume(returning: $0) }
            }
        }
    }

    private func json(_ text: String) throws -> RawJSON {
        try RawJSON(checking: Array(text.utf8), with: JSONReader())
    }

    private func wait(_ complaint: String, until isTrue: () throws -> Bool) async throws {
        let limit = Instant.now().advanced(byMilliseconds: Self.stepMilliseconds)
        while try !isTrue() {
            guard Instant.now() < limit else {
                throw Refusal(
                    status: .unavailable, "\(complaint) within \(Self.stepMilliseconds / 1000) s")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func installation(_ phones: ServingSimulator) -> DemonstrationResult.Installation {
        DemonstrationResult.Installation(
            gateway: gateway.address?.description ?? "",
            broker: environment.cluster.settings.brokers.joined(separator: ","),
            simulator: "localhost:\(phones.ports.production)", control: phones.control.description,
            admin: admin.address, data: data)
    }
}
