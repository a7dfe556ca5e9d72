import APNsSimulator
import CSimulatedLibrary
import CatalogRecords
import Cryptography
import Glibc
import HTTP2
import Identifiers
import JSON
import Lifecycle
import Payloads
import Sender
import Settings
import Simulation
import TLS

/// APNs in virtual time: the APNs simulator on an event loop of the world, with the fleet's phones behind it. The senders
/// reach it by real connections, over local sockets.
final class VirtualAPNs: ThreadOwner {
    /// A kind of trouble. Some of the requests get it while it lasts.
    enum Trouble: Int, CaseIterable {
        case tooManyRequests
        case unavailable
        case silenceBeforeDelivery
        case silenceAfterDelivery
        case refusedStreams
        case closedConnections
        case slowAnswers
    }

    private unowned let world: World
    private let number: Int32
    private let loop: EventLoop
    private let simulator: Simulator
    private let faults: APNsFaults
    private(set) var senderSettings = SenderSettings()
    /// APNs is never stopped.
    let stoppedUntil = Instant(nanoseconds: 0)

    init(in world: World, for fleet: Fleet) throws {
        self.world = world
        number = world.threads.addProcess()
        let credentials = SimulatorCredentials()
        let key = SigningKey()
        let app = Fleet.app
        var settings = SimulatorSettings()
        settings.apps[app.bundleID] = SimulatedApp()
        settings.keys.append(
            ProviderKey(keyID: app.keyID, teamID: app.teamID, key: key.verifyingKey))

        senderSettings = try Self.makeSenderSettings(
            authority: credentials.authority.certificatePEM, key: key, of: app, in: world.directory)

        let previous = simulated_process_enter(number)
        defer { simulated_process_enter(previous) }
        loop = try EventLoop(name: "apns")
        try loop.start()
        let faults = APNsFaults(of: fleet, in: world)
        self.faults = faults
        let phones = FleetPhones(fleet)
        let (simulatorSettings, apnsLoop) = (settings, loop)
        let simulator = loop.perform {
            Simulator(
                settings: simulatorSettings, credentials: credentials, on: apnsLoop, phones: phones,
                faultInjector: faults)
        }
        guard let simulator else { preconditionFailure("a new loop has not ended") }
        self.simulator = simulator
        try simulator.start()
        senderSettings.production = .init(host: "127.0.0.1", port: simulator.ports.production)
        world.threads.setOwner(self, ofProcess: number)
        world.threads.mustLook = true
    }

    /// Writes the certificate authority and the provider key, which a sender needs, to files. Returns the settings that
    /// name the files.
    private static func makeSenderSettings(
        authority: String, key: SigningKey, of app: App, in directory: String
    ) throws -> SenderSettings {
        var settings = SenderSettings()
        settings.authorities = "\(directory)/ca.pem"
        try write(authority, to: settings.authorities)
        settings.keysDirectory = "\(directory)/keys"
        let teamDirectory = "\(settings.keysDirectory)/\(app.teamID)"
        mkdir(settings.keysDirectory, 0o700)
        mkdir(teamDirectory, 0o700)
        try write(key.pem, to: "\(teamDirectory)/AuthKey_\(app.keyID).p8")
        return settings
    }

    private static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else { throw Violation(.noProcessEnds, "cannot write \(path)") }
        fputs(text, file)
        fclose(file)
        chmod(path, 0o600)
    }

    func resume(thread: Int32) throws { simulated_thread_resume(thread) }

    /// Gives some of the requests trouble from now on.
    func begin(_ trouble: Trouble, forMilliseconds milliseconds: Int) {
        faults.begin(trouble, until: world.now.advanced(byMilliseconds: milliseconds))
    }
}

/// The faults of APNs. They are used on its loop only.
private final class APNsFaults: FaultInjector, @unchecked Sendable {
    /// The share of the requests that get trouble.
    private static let percentage = 40

    private unowned let fleet: Fleet
    private unowned let world: World
    private var trouble: VirtualAPNs.Trouble?
    private var until = Instant(nanoseconds: 0)

    init(of fleet: Fleet, in world: World) { (self.fleet, self.world) = (fleet, world) }

    func begin(_ trouble: VirtualAPNs.Trouble, until time: Instant) {
        (self.trouble, until) = (trouble, time)
    }

    func faults(forOpenedConnection number: Int) -> [InjectedFault.ConnectionFault] { [] }

    func fault(for request: RequestFacts) -> InjectedFault {
        guard let trouble, world.now < until, world.random.number(below: 100) < Self.percentage else {
            return .none
        }
        if case .token(let token) = request.target { fleet.noteTrouble(ofToken: token) }
        return switch trouble {
        case .tooManyRequests: answer(429, "TooManyRequests")
        case .unavailable: answer(503, "ServiceUnavailable")
        case .silenceBeforeDelivery: InjectedFault(requestFault: .silence(processed: false))
        case .silenceAfterDelivery: InjectedFault(requestFault: .silence(processed: true))
        case .refusedStreams: InjectedFault(requestFault: .reset(.refusedStream, processed: false))
        case .closedConnections: closedConnection()
        case .slowAnswers: InjectedFault(delayMilliseconds: 500 + world.random.number(below: 6000))
        }
    }

    /// All pushes on the connection lose their answers.
    private func closedConnection() -> InjectedFault {
        world.uncertainStarts.append(world.now)
        return InjectedFault(connectionFault: .close)
    }

    private func answer(_ status: Int, _ reason: String) -> InjectedFault {
        InjectedFault(
            requestFault: .answer(status: status, reason: reason, timestamp: nil, retryAfterSeconds: nil))
    }
}

/// The fleet's phones, as APNs reaches them. They are used on its loop only.
private final class FleetPhones: SimulatedPhones, @unchecked Sendable {
    private unowned let fleet: Fleet

    init(_ fleet: Fleet) { self.fleet = fleet }

    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus { fleet.status(of: token) }

    func deliver(_ push: AcceptedPush) {
        guard case .token(let token) = push.target else { return }
        let content = push.payload.contentState.map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
        fleet.deliver(
            ReceivedPush(
                event: push.payload.event?.rawValue ?? "", timestamp: push.payload.timestamp ?? 0,
                contentState: content), to: token)
    }

    func tick(at time: Int64) {}
}
