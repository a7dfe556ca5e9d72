internal import HTTPServer
package import Lifecycle
internal import Telemetry

/// The simulated APNs as a part of a process: the server, its misbehaviour, its journal and the API that
/// controls them, all on one event loop but the API's listener and the journal's file.
///
/// `@unchecked Sendable`: `running` is written by `start` and `stop`, which the process calls one after
/// the other, and read by nobody else.
package final class SimulatorService: Service, @unchecked Sendable {
    package let name = "apns-simulator"
    private let settings: SimulatorServiceSettings
    private let onServing: @Sendable (ServingSimulator) -> Void
    private var running = Parts()

    /// What was started, in the order in which it is stopped.
    private struct Parts {
        var desk: ControlDesk?
        var control: HTTPServer?
        var faultPorts: [TLSFaultPort] = []
        var simulator: Simulator?
        var loop: EventLoop?
        var file: JournalFile?
    }

    /// - Parameter onServing: learns the ports that the system chose.
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
        if let file = settings.typesFile { settings.phones?.app.types = try GivenFile.types(file) }
        let file = try settings.journalFile.map {
            try JournalFile($0, syncs: settings.syncsJournal, limits: settings.journal, log: context.log)
        }
        running.file = file
        let loop = try EventLoop(name: "apns-simulator")
        try loop.start()
        running.loop = loop
        let clock = SimulatorClock()
        let desk = loop.perform { [settings] in
            let journal = Journal(on: loop, limits: settings.journal, file: file, metrics: context.metrics)
            let phones = settings.phones.map { population in
                let phones = Phones(settings.phoneSettings)
                phones.sink = settings.reportSink?(loop, context)
                phones.add(population, at: clock.now)
                return phones
            }
            return ControlDesk(
                settings.simulator, credentials, on: loop, script: script, journal: journal, phones: phones,
                clock: clock)
        }
        guard let desk else { preconditionFailure("a loop that has just been started has stopped") }
        running.desk = desk
        running.simulator = desk.simulator
        try desk.simulator.start()
        for place in settings.tlsFaults {
            running.faultPorts.append(
                try TLSFaultPort(
                    place.fault, host: settings.simulator.host, port: place.port,
                    authority: credentials.authority, names: settings.simulator.certificateNames, on: loop))
        }
        let control = try HTTPServer(
            name: "apns-simulator", host: settings.controlHost, port: settings.controlPort,
            routes: ControlAPI(desk, credentials, context.metrics).routes, metrics: context.metrics)
        running.control = control
        return ServingSimulator(
            host: settings.simulator.host, ports: desk.simulator.ports, control: control.address,
            tlsFaults: running.faultPorts.map { ($0.fault, $0.port) }, directory: settings.directory,
            keyID: credentials.keyID, population: settings.phones,
            firstToken: loop.perform { desk.phones?.tokens(of: 0).starts.first?.token ?? nil } ?? nil)
    }

    /// What the phones of a group show now. Not from a loop; blocks for a turn of the simulator's.
    package func view(group: String) -> GroupView? {
        guard let desk = running.desk else { return nil }
        return desk.loop.perform { desk.phones?.view(group: group, at: desk.simulator.clock.now) } ?? nil
    }

    package func stop(by deadline: Instant) async {
        let parts = running
        running = Parts()
        await parts.control?.stop(by: deadline)
        for port in parts.faultPorts { port.stop() }
        await parts.simulator?.stop(by: deadline)
        if let desk = parts.desk { desk.loop.perform { desk.phones?.sink?.end() } }
        parts.loop?.stop()
        // Last: the loop's last turn may have brought entries.
        parts.file?.stop()
    }
}
