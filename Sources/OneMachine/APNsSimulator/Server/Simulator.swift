internal import APNs
internal import Cryptography
package import Lifecycle
internal import LiveActivity
internal import TLS
internal import Telemetry

/// The simulated APNs: pushes and channel management, production and sandbox, on four ports of one event
/// loop. Phones, faults and the journal use the same loop, so no locks are needed.
///
/// `@unchecked Sendable` so that the reference can be passed on. Mutable state is used on the loop only, and
/// the listeners only by the owner that starts and stops the simulator.
package final class Simulator: @unchecked Sendable {
    static let tickMilliseconds = 250

    let settings: SimulatorSettings
    let loop: EventLoop
    let phones: (any SimulatedPhones)?
    let mischief: (any Mischief)?
    let journal: (any JournalSink)?
    let clock: SimulatorClock
    let judge: Judge
    let frames = ReplyFrames()
    let waiting: Waiting
    var ids = RequestIDs()
    private(set) var isStopping = false
    private let credentials: SimulatorCredentials
    private var listeners: [Listener] = []
    private(set) var connections: [Int: ServedConnection] = [:]
    private(set) var connectionsMade = 0
    private(set) var requestsMade = 0
    private var whenEmpty: (() -> Void)?

    /// - Parameters:
    /// - loop: the loop, which its owner starts and stops. Phones, faults and the journal are confined to it.
    ///   - credentials: the credentials, whose provider key is valid in addition to the keys in the settings.
    init(
        _ settings: SimulatorSettings, credentials: SimulatorCredentials, on loop: EventLoop,
        phones: (any SimulatedPhones)? = nil, mischief: (any Mischief)? = nil,
        journal: (any JournalSink)? = nil,
        clock: SimulatorClock = SimulatorClock()
    ) {
        var settings = settings
        settings.keys.append(credentials.providerKey)
        self.settings = settings
        self.credentials = credentials
        self.loop = loop
        self.phones = phones
        self.mischief = mischief
        self.journal = journal
        self.clock = clock
        judge = Judge(
            settings, isWatched: phones != nil || mischief != nil || journal != nil,
            readsPayloads: phones?.readsPayloads ?? false)
        waiting = Waiting(on: loop)
    }

    /// Creates a simulator for load tests: every token is good, and nothing is stored.
    package convenience init(
        _ settings: SimulatorSettings, credentials: SimulatorCredentials, on loop: EventLoop
    ) {
        self.init(settings, credentials: credentials, on: loop, phones: nil)
    }

    // MARK: Start and stop

    /// Starts listening before it returns. Do not call on a loop.
    package func start() throws {
        let hour: Int64 = 3_600_000
        let until = WallTime.now().milliseconds + Int64(settings.certificateDays) * 24 * hour
        let from = min(WallTime.now().milliseconds, until) - hour
        let identity = credentials.authority.issue(
            for: settings.certificateNames,
            validity: WallTime(milliseconds: from)...WallTime(milliseconds: until))
        let context = try TLSContext.server(
            chain: .text(identity.chainPEM), key: .text(identity.keyPEM),
            // APNs accepts peers without ALPN too. Some real clients (aioapns, older Pushy) speak HTTP/2
            // without it.
            takesPeersWithoutALPN: true,
            // An expired certificate is one of the possible faults.
            at: WallTime(milliseconds: 0))
        let wanted = settings.ports
        for (number, port) in [
            (wanted.production, ServedPort(kind: .push, environment: .production)),
            (wanted.sandbox, ServedPort(kind: .push, environment: .sandbox)),
            (wanted.productionChannels, ServedPort(kind: .channels, environment: .production)),
            (wanted.sandboxChannels, ServedPort(kind: .channels, environment: .sandbox)),
        ] {
            do {
                listeners.append(try listen(number, on: port, with: context))
            } catch {
                for listener in listeners { listener.stop() }
                listeners = []
                throw error
            }
        }
        loop.execute { self.tick() }
    }

    /// The ports, available after `start`.
    package var ports: SimulatorSettings.Ports {
        precondition(listeners.count == 4, "the simulator is not started")
        var ports = SimulatorSettings.Ports()
        ports.production = listeners[0].port
        ports.sandbox = listeners[1].port
        ports.productionChannels = listeners[2].port
        ports.sandboxChannels = listeners[3].port
        return ports
    }

    private func listen(_ number: Int, on port: ServedPort, with context: TLSContext) throws -> Listener {
        try Listener(
            host: settings.host, port: number, on: [loop], connectionsMax: settings.connectionsMax
        ) { [weak self] tcp in
            guard let self else { return nil }
            connectionsMade += 1
            let number = connectionsMade
            let accepted = TLSConnection.accept(tcp, context) { tls in
                let connection = ServedConnection(tls, simulator: self, port: port, number: number)
                connections[number] = connection
                return connection
            }
            connections[number]?.begin(with: mischief?.connectionOpened(number) ?? [])
            return accepted
        }
    }

    /// Sends Shutdown, answers the started requests, and closes the remaining connections at the deadline.
    package func stop(by deadline: Instant) async {
        for listener in listeners { listener.stop() }
        await withCheckedContinuation { continuation in
            let isQueued = loop.execute { self.beginToStop(by: deadline) { continuation.resume() } }
            if !isQueued { continuation.resume() }
        }
    }

    private func beginToStop(by deadline: Instant, _ stopped: @escaping () -> Void) {
        isStopping = true
        whenEmpty = stopped
        for connection in connections.values { connection.leave(saying: Reason.shutdown.rawValue) }
        waiting.add(milliseconds: deadline.milliseconds(since: loop.now)) { [weak self] in
            guard let self else { return }
            for connection in connections.values { connection.transport.close() }
            stopWhenEmpty()
        }
        stopWhenEmpty()
    }

    private func stopWhenEmpty() {
        guard connections.isEmpty, let stopped = whenEmpty else { return }
        whenEmpty = nil
        waiting.removeAll()
        stopped()
    }

    // MARK: Calls from connections

    func countRequest() -> Int {
        requestsMade += 1
        return requestsMade
    }

    func closed(_ connection: ServedConnection) {
        connections[connection.number] = nil
        stopWhenEmpty()
    }

    /// Carries out a verdict: asks the phones, delivers the push, or changes channels.
    func process(_ exchange: Exchange) -> (reply: Reply, isDelivered: Bool) {
        switch exchange.verdict {
        case .refused(let reason): return (Reply(reason), false)
        case .managed(let action, let app):
            return (Reply(judge.channels.perform(action, for: app)), false)
        case .accepted(let push):
            guard let push, let phones else { return (.accepted, false) }
            if case .token(let token) = push.target {
                let standing = phones.standing(
                    of: token, environment: push.environment, bundleID: push.bundleID, at: clock.now)
                switch standing {
                case .good: break
                case .unknown: return (Reply(.badDeviceToken), false)
                case .ofAnotherTopic: return (Reply(.deviceTokenNotForTopic), false)
                case .gone(let since): return (Reply(.unregistered, since: since), false)
                case .expired(let since): return (Reply(.expiredToken, since: since), false)
                }
            }
            phones.deliver(push)
            return (.accepted, true)
        }
    }

    // MARK: Time

    /// Advances the clock and applies all events of the skipped time in order. Returns false above the limit.
    func putForward(milliseconds: Int64) -> Bool {
        loop.preconditionOnLoop()
        let before = clock.now
        guard clock.putForward(milliseconds: milliseconds) else { return false }
        phones?.live(from: before, to: clock.now)
        return true
    }

    private func tick() {
        guard !isStopping else { return }
        phones?.tick(at: clock.now)
        if let idle = settings.idleMilliseconds {
            for connection in connections.values
            where connection.isIdle && loop.now.milliseconds(since: connection.lastRequestAt) >= idle {
                connection.leave(saying: Reason.idleTimeout.rawValue)
            }
        }
        waiting.add(milliseconds: Self.tickMilliseconds) { [weak self] in self?.tick() }
    }
}
