internal import Cryptography
internal import HTTPServer
package import Lifecycle
internal import TLS
internal import Telemetry

/// The simulated APNs as a service of a process: the server, its faults, its journal and the control API.
/// Everything runs on one event loop, except the API's listener and the journal's file, which have their own
/// threads.
package final class SimulatorService: Service {
    package let name = "apns-simulator"
    private let settings: SimulatorServiceSettings
    private let onServing: @Sendable (SimulatorConnectionInfo) -> Void
    private let running = TracedLock(RunningParts())

    /// The started parts. `stop` stops them, also after a start that failed halfway.
    private struct RunningParts: Sendable {
        var controller: SimulatorController?
        /// The server of the control API.
        var control: HTTPServer?
        var faultPorts: [TLSFaultPort] = []
        var loop: EventLoop?
        var file: JournalFile?
        var records: RequestRecordFile?
    }

    /// The files that the settings ask for.
    private struct OutputFiles {
        let journal: JournalFile?
        let records: RequestRecordFile?
    }

    /// - Parameter onServing: receives the ports that the system chose.
    package init(
        settings: SimulatorServiceSettings,
        onServing: @escaping @Sendable (SimulatorConnectionInfo) -> Void = { _ in }
    ) {
        self.settings = settings
        self.onServing = onServing
    }

    // MARK: Start

    package func start(_ context: ServiceContext) async throws {
        do {
            let info = try startParts(with: context)
            context.log.info(
                "serving", .field("production", info.ports.production),
                .field("sandbox", info.ports.sandbox), .field("control", info.controlAddress.description))
            onServing(info)
        } catch {
            await stop(by: .now())
            throw error
        }
    }

    /// Starts the event loop, the simulator, the ports with TLS faults and the control API. `running` gets each
    /// one as soon as it exists, so that `stop` also ends a start that failed halfway.
    private func startParts(with context: ServiceContext) throws -> SimulatorConnectionInfo {
        let credentials = try SimulatorCredentials(directory: settings.credentialsDirectory)
        let script = try settings.scriptFile.map { try InputFile.readScript(at: $0) } ?? .none
        var settings = settings
        let portal = try settings.portalFile.map { try InputFile.readPortal(at: $0) } ?? Portal()
        let portalSigners = try Self.register(portal, in: &settings)
        if let path = settings.typesFile {
            settings.phones?.app.types = try InputFile.readActivityTypes(at: path)
        }
        let files = try openFiles(settings, log: context.log)
        let loop = try EventLoop(name: "apns-simulator")
        try loop.start()
        running.withLock { $0.loop = loop }
        let controller = loop.perform { [settings] in
            SimulatorService.makeController(
                settings, portal: portal, credentials: credentials, script: script, files: files, on: loop,
                context: context)
        }
        guard let controller else { preconditionFailure("a loop stopped right after its start") }
        running.withLock { $0.controller = controller }
        try controller.simulator.start()
        try startTLSFaultPorts(settings, authority: credentials.authority, on: loop)
        let signers = [ProviderTokenRoute.Signer(credentials)] + portalSigners
        let control = try startControlAPI(
            settings, controller: controller, signers: signers, metrics: context.metrics)
        return SimulatorConnectionInfo(
            host: settings.simulator.host, ports: controller.simulator.ports, controlAddress: control.address,
            tlsFaults: running.withLock { $0.faultPorts }.map { TLSFaultListener($0.fault, port: $0.port) },
            credentialsDirectory: settings.credentialsDirectory, keyID: credentials.keyID,
            population: settings.phones ?? portal.populations.first,
            // Nil if the loop has stopped, or if the first phone has no token.
            firstToken: loop.perform {
                controller.phones?.currentTokens(ofPhone: 0).starts.first?.token
            } ?? nil)
    }

    /// Creates the simulator with its journal, its faults and its phones. Runs on the loop, to which they are
    /// confined.
    private static func makeController(
        _ settings: SimulatorServiceSettings, portal: Portal, credentials: SimulatorCredentials,
        script: FaultScript, files: OutputFiles, on loop: EventLoop,
        context: ServiceContext
    ) -> SimulatorController {
        let clock = SimulatorClock()
        files.records?.appendStart(at: clock.now)
        let journal = Journal(
            on: loop, limits: settings.journalLimits, file: files.journal, recordFile: files.records,
            metrics: context.metrics)
        let controller = SimulatorController(
            settings: settings.simulator, credentials: credentials, on: loop, script: script,
            journal: journal, clock: clock
        ) {
            SimulatorService.makePhones(settings, portal: portal, clock: clock)
        }
        controller.phones?.sink = settings.reportSink?(loop, context)
        return controller
    }

    /// Adds the apps and keys of the portal to the settings. Returns the signers of its keys.
    private static func register(
        _ portal: Portal, in settings: inout SimulatorServiceSettings
    ) throws -> [ProviderTokenRoute.Signer] {
        settings.simulator.apps.merge(portal.apps) { _, portalApp in portalApp }
        var signers: [ProviderTokenRoute.Signer] = []
        for key in portal.keys {
            let signingKey = try SimulatorCredentials.loadKey(
                id: key.keyID, teamID: key.teamID, directory: settings.credentialsDirectory)
            signers.append(.init(teamID: key.teamID, keyID: key.keyID, key: signingKey))
            settings.simulator.keys.append(
                ProviderKey(
                    keyID: key.keyID, teamID: key.teamID, key: signingKey.verifyingKey,
                    environments: key.environments, apps: key.apps))
        }
        return signers
    }

    /// Opens the journal's file and the file of request records, if the settings have them.
    private func openFiles(
        _ settings: SimulatorServiceSettings, log: Log
    ) throws -> OutputFiles {
        let journal = try settings.journalFile.map {
            try JournalFile(
                path: $0, syncs: settings.syncsJournal, showsPayloads: settings.journalShowsPayloads,
                limits: settings.journalLimits, log: log)
        }
        running.withLock { $0.file = journal }
        let records = try settings.recordsFile.map { try RequestRecordFile(path: $0, log: log) }
        running.withLock { $0.records = records }
        return OutputFiles(journal: journal, records: records)
    }

    /// Returns the phones of the settings and of the portal, or nil if both have none. A reset calls it again.
    private static func makePhones(
        _ settings: SimulatorServiceSettings, portal: Portal, clock: SimulatorClock
    ) -> Phones? {
        let populations = [settings.phones].compactMap { $0 } + portal.populations
        if populations.isEmpty { return nil }
        let phones = Phones(settings: settings.phoneSettings)
        for population in populations { phones.add(population, at: clock.now) }
        return phones
    }

    private func startTLSFaultPorts(
        _ settings: SimulatorServiceSettings, authority: CertificateAuthority, on loop: EventLoop
    ) throws {
        for listener in settings.tlsFaults {
            let port = try TLSFaultPort(
                listener.fault, host: settings.simulator.host, port: listener.port,
                authority: authority, names: settings.simulator.certificateNames, on: loop)
            running.withLock { $0.faultPorts.append(port) }
        }
    }

    private func startControlAPI(
        _ settings: SimulatorServiceSettings, controller: SimulatorController,
        signers: [ProviderTokenRoute.Signer], metrics: Metrics
    ) throws -> HTTPServer {
        var limits = HTTPLimits()
        // `POST /v1/wait` may answer that much later than other routes.
        limits.answerMilliseconds += WaitRoute.millisecondsMax
        let control = try HTTPServer(
            name: "apns-simulator", host: settings.controlHost, port: settings.controlPort, limits: limits,
            routes: ControlAPI(controller: controller, signers: signers, metrics: metrics).routes,
            metrics: metrics)
        running.withLock { $0.control = control }
        return control
    }

    // MARK: Stop

    package func stop(by deadline: Instant) async {
        let parts = running.withLock { running in
            let parts = running
            running = RunningParts()
            return parts
        }
        parts.controller?.beginStopping()
        await parts.control?.stop(by: deadline)
        for port in parts.faultPorts { port.stop() }
        await parts.controller?.simulator.stop(by: deadline)
        if let controller = parts.controller { controller.loop.perform { controller.phones?.sink?.stop() } }
        parts.loop?.stop()
        // The files are last, because the loop's last iteration may have added entries.
        parts.file?.stop()
        parts.records?.close()
    }

    // MARK: Queries

    private var controller: SimulatorController? { running.withLock { $0.controller } }

    /// Returns the current screens of a group. Blocks for one iteration of the simulator's loop, so do not
    /// call it on a loop.
    package func screens(ofGroup name: String) -> GroupScreens? {
        guard let controller else { return nil }
        return controller.loop.perform {
            controller.phones?.screens(ofGroup: name, at: controller.simulator.clock.now)
        } ?? nil
    }

    /// Returns the current screens of the first groups by name. Blocks for one iteration of the simulator's
    /// loop, so do not call it on a loop.
    package func groupScreens(limit: Int) -> [GroupScreens] {
        guard let controller else { return [] }
        let groups = controller.loop.perform { () -> [GroupScreens] in
            guard let phones = controller.phones else { return [] }
            let now = controller.simulator.clock.now
            return phones.groupNames(limit: limit).compactMap { phones.screens(ofGroup: $0, at: now) }
        }
        return groups ?? []
    }

    /// Returns the number of phones whose iOS supports a start by push. Blocks for one iteration of the
    /// simulator's loop, so do not call it on a loop.
    package func startablePhones() -> Int {
        guard let controller else { return 0 }
        return controller.loop.perform { controller.phones?.startablePhones ?? 0 } ?? 0
    }
}
