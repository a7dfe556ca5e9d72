internal import Cryptography
internal import HTTPServer
package import Lifecycle
internal import Telemetry

/// The simulated APNs as a service of a process: the server, its faults, its journal and the control API.
/// Everything runs on one event loop, except the API's listener and the journal's file.
package final class SimulatorService: Service {
    package let name = "apns-simulator"
    private let settings: SimulatorServiceSettings
    private let onServing: @Sendable (ServingSimulator) -> Void
    private let running = TracedLock(Parts())

    /// The started parts, in the order in which they are stopped.
    private struct Parts: Sendable {
        var desk: ControlDesk?
        var control: HTTPServer?
        var faultPorts: [TLSFaultPort] = []
        var loop: EventLoop?
        var file: JournalFile?
        var records: RequestRecords?
    }

    /// - Parameter onServing: receives the ports that the system chose.
    package init(
        _ settings: SimulatorServiceSettings,
        onServing: @escaping @Sendable (ServingSimulator) -> Void = { _ in }
    ) {
        self.settings = settings
        self.onServing = onServing
    }

    package func start(_ context: ServiceContext) async throws {
        do {
            let serving = try begin(context)
            context.log.info(
                "serving", .field("production", serving.ports.production),
                .field("sandbox", serving.ports.sandbox), .field("control", serving.control.description))
            onServing(serving)
        } catch {
            await stop(by: .now())
            throw error
        }
    }

    private func begin(_ context: ServiceContext) throws -> ServingSimulator {
        let credentials = try SimulatorCredentials(directory: settings.directory)
        let script = try settings.scriptFile.map { try GivenFile.script($0) } ?? .none
        var settings = settings
        let portal = try settings.portalFile.map { try GivenFile.portal($0) } ?? Portal()
        settings.simulator.apps.merge(portal.apps) { _, given in given }
        var signers = [ProviderTokenRoute.Signer(credentials)]
        for key in portal.keys {
            let signing = try SimulatorCredentials.key(key.keyID, of: key.teamID, in: settings.directory)
            signers.append(.init(teamID: key.teamID, keyID: key.keyID, key: signing))
            settings.simulator.keys.append(
                ProviderKey(
                    keyID: key.keyID, teamID: key.teamID, key: signing.verifyingKey,
                    environments: key.environments, apps: key.apps))
        }
        if let file = settings.typesFile { settings.phones?.app.types = try GivenFile.types(file) }
        let file = try settings.journalFile.map {
            try JournalFile(
                $0, syncs: settings.syncsJournal, showsPayloads: settings.journalShowsPayloads,
                limits: settings.journal, log: context.log)
        }
        running.withLock { $0.file = file }
        let records = try settings.recordsFile.map { try RequestRecords($0, log: context.log) }
        running.withLock { $0.records = records }
        let loop = try EventLoop(name: "apns-simulator")
        try loop.start()
        running.withLock { $0.loop = loop }
        let clock = SimulatorClock()
        let desk = loop.perform { [settings] in
            records?.noteBeginning(at: clock.now)
            let journal = Journal(
                on: loop, limits: settings.journal, file: file, records: records, metrics: context.metrics)
            let desk = ControlDesk(
                settings.simulator, credentials, on: loop, script: script, journal: journal, clock: clock
            ) {
                let populations = [settings.phones].compactMap { $0 } + portal.populations
                if populations.isEmpty { return nil }
                let phones = Phones(settings.phoneSettings)
                for population in populations { phones.add(population, at: clock.now) }
                return phones
            }
            desk.phones?.sink = settings.reportSink?(loop, context)
            return desk
        }
        guard let desk else { preconditionFailure("a loop stopped right after its start") }
        running.withLock { $0.desk = desk }
        try desk.simulator.start()
        for listener in settings.tlsFaults {
            let port = try TLSFaultPort(
                listener.fault, host: settings.simulator.host, port: listener.port,
                authority: credentials.authority, names: settings.simulator.certificateNames, on: loop)
            running.withLock { $0.faultPorts.append(port) }
        }
        var limits = HTTPLimits()
        limits.answerMilliseconds += WaitRoute.millisecondsMax
        let control = try HTTPServer(
            name: "apns-simulator", host: settings.controlHost, port: settings.controlPort, limits: limits,
            routes: ControlAPI(desk, signers: signers, metrics: context.metrics).routes,
            metrics: context.metrics)
        running.withLock { $0.control = control }
        return ServingSimulator(
            host: settings.simulator.host, ports: desk.simulator.ports, control: control.address,
            tlsFaults: running.withLock { $0.faultPorts }.map { ($0.fault, $0.port) },
            directory: settings.directory,
            keyID: credentials.keyID, population: settings.phones ?? portal.populations.first,
            firstToken: loop.perform { desk.phones?.tokens(of: 0).starts.first?.token ?? nil } ?? nil)
    }

    private var desk: ControlDesk? { running.withLock { $0.desk } }

    /// Returns the current screens of a group. Blocks for one turn of the simulator's loop, so do not call it
    /// on a loop.
    package func view(group: String) -> GroupScreens? {
        guard let desk else { return nil }
        return desk.loop.perform { desk.phones?.view(group: group, at: desk.simulator.clock.now) } ?? nil
    }

    /// Returns the current screens of the first groups by name. Blocks for one turn of the simulator's loop,
    /// so do not call it on a loop.
    package func views(limit: Int) -> [GroupScreens] {
        guard let desk else { return [] }
        return desk.loop.perform {
            let now = desk.simulator.clock.now
            return desk.phones.map { phones in
                phones.groupNames(limit: limit).compactMap { phones.view(group: $0, at: now) }
            }
        }.flatMap { $0 } ?? []
    }

    /// Returns the number of phones whose iOS supports a start by push. Blocks for one turn of the
    /// simulator's loop, so do not call it on a loop.
    package func startablePhones() -> Int {
        guard let desk else { return 0 }
        return desk.loop.perform { desk.phones?.startable ?? 0 } ?? 0
    }

    package func stop(by deadline: Instant) async {
        let parts = running.withLock { running in
            defer { running = Parts() }
            return running
        }
        parts.desk?.beginToStop()
        await parts.control?.stop(by: deadline)
        for port in parts.faultPorts { port.stop() }
        await parts.desk?.simulator.stop(by: deadline)
        if let desk = parts.desk { desk.loop.perform { desk.phones?.sink?.end() } }
        parts.loop?.stop()
        // Stop the file last, because the loop's last turn may have added entries.
        parts.file?.stop()
        parts.records?.close()
    }
}
