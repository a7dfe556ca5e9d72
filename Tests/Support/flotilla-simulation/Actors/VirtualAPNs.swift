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
    /// A kind of trouble.
    enum Trouble {
        case tooManyRequests
        case unavailable
        case silenceBeforeDelivery
        case silenceAfterDelivery
        case refusedStreams
        case closedConnections
        case slowAnswers
        /// APNs knows the provider key of the app no more.
        case refusedKey

        /// The kinds that some of the requests of all apps get.
        static let ofAllApps: [Trouble] = [
            .tooManyRequests, .unavailable, .silenceBeforeDelivery, .silenceAfterDelivery, .refusedStreams,
            .closedConnections, .slowAnswers,
        ]
        /// The kinds that all requests of one app get.
        static let ofOneApp: [Trouble] = [
            .tooManyRequests, .unavailable, .silenceBeforeDelivery, .refusedStreams, .slowAnswers,
            .refusedKey,
        ]
    }

    private unowned let world: World
    private let number: Int32
    private let loop: EventLoop
    private let simulator: Simulator
    private let faults: APNsFaults
    private(set) var senderSettings = SenderSettings()
    /// APNs is never stopped.
    let stoppedUntil = Instant(nanoseconds: 0)

    init(in world: World, for fleets: [Fleet]) throws {
        self.world = world
        number = world.threads.addProcess()
        let credentials = SimulatorCredentials()
        senderSettings.authorities = "\(world.directory)/ca.pem"
        try Self.write(credentials.authority.certificatePEM, to: senderSettings.authorities)
        senderSettings.keysDirectory = "\(world.directory)/keys"
        // Low limits, so that stories reach them.
        senderSettings.limits.permitsMax = 60
        senderSettings.limits.window = 60
        mkdir(senderSettings.keysDirectory, 0o700)
        var settings = SimulatorSettings()
        for fleet in fleets {
            let (app, key) = (fleet.app, SigningKey())
            settings.apps[app.bundleID] = SimulatedApp()
            settings.keys.append(ProviderKey(keyID: app.keyID, teamID: app.teamID, key: key.verifyingKey))
            mkdir("\(senderSettings.keysDirectory)/\(app.teamID)", 0o700)
            try Self.write(key.pem, to: Self.keyPath(of: app, in: senderSettings.keysDirectory))
        }

        let previous = simulated_process_enter(number)
        defer { simulated_process_enter(previous) }
        loop = try EventLoop(name: "apns")
        try loop.start()
        let fleetOfBundle = Dictionary(uniqueKeysWithValues: fleets.map { ($0.app.bundleID, $0) })
        let faults = APNsFaults(of: fleetOfBundle, in: world)
        self.faults = faults
        let phones = FleetPhones(fleetOfBundle)
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

    private static func keyPath(of app: App, in directory: String) -> String {
        "\(directory)/\(app.teamID)/AuthKey_\(app.keyID).p8"
    }

    /// Takes away the file of an app's provider key, or brings it back. A sender reads it at its start.
    func setKeyMissing(_ isMissing: Bool, of app: App) {
        let path = Self.keyPath(of: app, in: senderSettings.keysDirectory)
        let missing = "\(path).missing"
        _ = isMissing ? rename(path, missing) : rename(missing, path)
    }

    private static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else { throw Violation(.noProcessEnds, "cannot write \(path)") }
        fputs(text, file)
        fclose(file)
        chmod(path, 0o600)
    }

    /// Calls a function at a later request.
    func notify(afterRequests count: Int, _ run: @escaping () -> Void) {
        faults.requestsUntilNotice = count
        faults.notice = run
    }

    func resume(thread: Int32) throws { simulated_thread_resume(thread) }

    /// Gives some of the requests trouble from now on, or all of one app.
    func begin(_ trouble: Trouble, ofApp fleet: Fleet? = nil, forMilliseconds milliseconds: Int) {
        let end = world.now.advanced(byMilliseconds: milliseconds)
        if let fleet {
            faults.appTrouble = (trouble, fleet.app.bundleID, end)
        } else {
            faults.trouble = (trouble, end)
        }
    }
}

/// The faults of APNs. They are used on its loop only.
private final class APNsFaults: FaultInjector, @unchecked Sendable {
    /// The share of the requests that get trouble if all apps have it.
    private static let percentage = 40

    private let fleetOfBundle: [String: Fleet]
    private unowned let world: World
    var trouble: (kind: VirtualAPNs.Trouble, until: Instant)?
    var appTrouble: (kind: VirtualAPNs.Trouble, bundleID: String, until: Instant)?

    /// The number of requests until `notice` is called. Nil if it is not called.
    var requestsUntilNotice: Int?
    var notice: () -> Void = {}

    init(of fleetOfBundle: [String: Fleet], in world: World) {
        (self.fleetOfBundle, self.world) = (fleetOfBundle, world)
    }

    func faults(forOpenedConnection number: Int) -> [InjectedFault.ConnectionFault] { [] }

    func fault(for request: RequestFacts) -> InjectedFault {
        if let count = requestsUntilNotice {
            requestsUntilNotice = count > 0 ? count - 1 : nil
            if count == 0 { notice() }
        }
        guard let trouble = trouble(of: request) else { return .none }
        if case .token(let token) = request.target, let bundleID = request.bundleID {
            fleetOfBundle[bundleID]?.noteTrouble(ofToken: token)
        }
        return switch trouble {
        case .tooManyRequests: answer(429, "TooManyRequests")
        case .unavailable: answer(503, "ServiceUnavailable")
        case .silenceBeforeDelivery: InjectedFault(requestFault: .silence(processed: false))
        case .silenceAfterDelivery: InjectedFault(requestFault: .silence(processed: true))
        case .refusedStreams: InjectedFault(requestFault: .reset(.refusedStream, processed: false))
        case .closedConnections: closedConnection()
        case .slowAnswers: InjectedFault(delayMilliseconds: 500 + world.random.number(below: 6000))
        case .refusedKey: answer(403, "InvalidProviderToken")
        }
    }

    private func trouble(of request: RequestFacts) -> VirtualAPNs.Trouble? {
        if let appTrouble, world.now < appTrouble.until, request.bundleID == appTrouble.bundleID {
            return appTrouble.kind
        }
        guard let trouble, world.now < trouble.until, world.random.number(below: 100) < Self.percentage
        else { return nil }
        return trouble.kind
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

/// The phones of all apps, as APNs reaches them. They are used on its loop only.
private final class FleetPhones: SimulatedPhones, @unchecked Sendable {
    private let fleetOfBundle: [String: Fleet]

    init(_ fleetOfBundle: [String: Fleet]) { self.fleetOfBundle = fleetOfBundle }

    func status(
        of token: PushToken, environment: Environment, bundleID: String, at time: Int64
    ) -> TokenStatus { fleetOfBundle[bundleID]?.status(of: token) ?? .wrongTopic }

    func deliver(_ push: AcceptedPush) {
        guard case .token(let token) = push.target, let fleet = fleetOfBundle[push.bundleID] else { return }
        let content = push.payload.contentState.map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
        fleet.deliver(
            ReceivedPush(
                event: push.payload.event?.rawValue ?? "", timestamp: push.payload.timestamp ?? 0,
                contentState: content), to: token)
    }

    func tick(at time: Int64) {}
}
