internal import APNs
internal import Cryptography
internal import Identifiers
package import Lifecycle
internal import TLS
internal import Telemetry

/// The simulated APNs: pushes and channel management, production and sandbox, on four ports of one event
/// loop. Phones, faults and the journal use the same loop, so no locks are needed.
///
/// `@unchecked Sendable` so that the reference can be passed on. Mutable state is used on the loop only, and
/// the listeners only by the owner that starts and stops the simulator.
package final class Simulator: @unchecked Sendable {
    /// Interval at which the phones' events happen and idle connections are closed.
    static let tickMilliseconds = 250

    let settings: SimulatorSettings
    let loop: EventLoop
    let phones: (any SimulatedPhones)?
    let faultInjector: (any FaultInjector)?
    let journal: (any JournalSink)?
    let clock: SimulatorClock
    let validator: RequestValidator
    let replyEncoder = ReplyEncoder()
    let delayedActions: DelayedActions
    var requestIDs = RequestIDGenerator()
    private(set) var isStopping = false
    private let credentials: SimulatorCredentials
    /// One listener per port, in the order of `ports`.
    private var listeners: [TCPListener] = []
    /// Open connections by number.
    private(set) var connections: [Int: ServedConnection] = [:]
    private(set) var connectionsOpened = 0
    private(set) var requestsReceived = 0
    /// Called once when the last connection is closed. Nil until the simulator is stopped.
    private var onLastClose: (() -> Void)?

    /// - Parameters:
    ///   - loop: the loop, which the caller starts and stops. Phones, faults and the journal are confined to
    ///     it.
    ///   - credentials: the credentials, whose provider key is valid in addition to the keys in the settings.
    init(
        settings: SimulatorSettings, credentials: SimulatorCredentials, on loop: EventLoop,
        phones: (any SimulatedPhones)? = nil, faultInjector: (any FaultInjector)? = nil,
        journal: (any JournalSink)? = nil, clock: SimulatorClock = SimulatorClock()
    ) {
        var settings = settings
        settings.keys.append(credentials.providerKey)
        self.settings = settings
        self.credentials = credentials
        self.loop = loop
        self.phones = phones
        self.faultInjector = faultInjector
        self.journal = journal
        self.clock = clock
        validator = RequestValidator(
            settings: settings, usesTargets: phones != nil || faultInjector != nil || journal != nil,
            readsPayloads: phones?.readsPayloads ?? false)
        delayedActions = DelayedActions(on: loop)
    }

    /// Creates a simulator for load tests: every token is valid, and nothing is stored.
    package convenience init(
        settings: SimulatorSettings, credentials: SimulatorCredentials, on loop: EventLoop
    ) {
        self.init(settings: settings, credentials: credentials, on: loop, phones: nil)
    }

    /// Creates a simulator with phones and faults of the caller, and without a journal. Call it on the loop.
    package convenience init(
        settings: SimulatorSettings, credentials: SimulatorCredentials, on loop: EventLoop,
        phones: any SimulatedPhones, faultInjector: any FaultInjector
    ) {
        self.init(
            settings: settings, credentials: credentials, on: loop, phones: phones,
            faultInjector: faultInjector, journal: nil)
    }

    // MARK: Start and stop

    /// Starts listening before it returns. Do not call on a loop.
    package func start() throws {
        let context = try makeTLSContext()
        let ports = settings.ports
        for (number, port) in [
            (ports.production, ServedPort(service: .push, environment: .production)),
            (ports.sandbox, ServedPort(service: .push, environment: .sandbox)),
            (ports.productionChannels, ServedPort(service: .channels, environment: .production)),
            (ports.sandboxChannels, ServedPort(service: .channels, environment: .sandbox)),
        ] {
            do {
                listeners.append(try listen(onPort: number, serving: port, with: context))
            } catch {
                for listener in listeners { listener.stop() }
                listeners = []
                throw error
            }
        }
        loop.execute { self.tick() }
    }

    private func makeTLSContext() throws -> TLSContext {
        let hour: Int64 = 3_600_000
        let validTo = WallTime.now().milliseconds + Int64(settings.certificateDays) * 24 * hour
        // One hour earlier than now, so that a client whose clock is slow accepts the certificate too. For an
        // expired certificate it is one hour before the end.
        let validFrom = min(WallTime.now().milliseconds, validTo) - hour
        let identity = credentials.authority.issue(
            for: settings.certificateNames,
            validity: WallTime(milliseconds: validFrom)...WallTime(milliseconds: validTo))
        return try TLSContext.server(
            chain: .text(identity.chainPEM), key: .text(identity.keyPEM),
            // APNs accepts peers without ALPN too. Some real clients (aioapns, older Pushy) speak HTTP/2
            // without it.
            acceptsPeersWithoutALPN: true,
            // `server` refuses a certificate that has expired at this time. An expired one is a fault that a
            // test may want, so the time is the start of 1970.
            at: WallTime(milliseconds: 0))
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

    private func listen(onPort number: Int, serving port: ServedPort, with context: TLSContext) throws
        -> TCPListener
    {
        try TCPListener(
            host: settings.host, port: number, on: [loop], connectionsMax: settings.connectionsMax
        ) { [weak self] tcp in
            guard let self else { return nil }
            connectionsOpened += 1
            let number = connectionsOpened
            let accepted = TLSConnection.accept(tcp, context: context) { tls in
                let connection = ServedConnection(transport: tls, simulator: self, port: port, number: number)
                connections[number] = connection
                return connection
            }
            connections[number]?.applyHandshakeFaults(
                faultInjector?.faults(forOpenedConnection: number) ?? [])
            return accepted
        }
    }

    /// Sends Shutdown, answers the started requests, and closes the remaining connections at the deadline.
    package func stop(by deadline: Instant) async {
        for listener in listeners { listener.stop() }
        await withCheckedContinuation { continuation in
            let isQueued = loop.execute { self.beginStopping(by: deadline) { continuation.resume() } }
            if !isQueued { continuation.resume() }
        }
    }

    private func beginStopping(by deadline: Instant, onStopped: @escaping () -> Void) {
        isStopping = true
        onLastClose = onStopped
        for connection in connections.values { connection.shutDown(reason: APNsReason.shutdown.rawValue) }
        delayedActions.schedule(afterMilliseconds: deadline.milliseconds(since: loop.now)) { [weak self] in
            guard let self else { return }
            for connection in connections.values { connection.transport.close() }
            stopIfEmpty()
        }
        stopIfEmpty()
    }

    private func stopIfEmpty() {
        guard connections.isEmpty, let onStopped = onLastClose else { return }
        onLastClose = nil
        delayedActions.removeAll()
        onStopped()
    }

    // MARK: Calls from connections

    func nextRequestNumber() -> Int {
        requestsReceived += 1
        return requestsReceived
    }

    func connectionDidClose(_ connection: ServedConnection) {
        connections[connection.number] = nil
        stopIfEmpty()
    }

    /// Carries out a verdict: asks the phones, delivers the push, or changes channels.
    func process(_ exchange: Exchange) -> (reply: Reply, isDelivered: Bool) {
        switch exchange.verdict {
        case .refused(let reason): return (Reply(refusal: reason), false)
        case .channelAction(let action, let app):
            return (Reply(channelResult: validator.channels.perform(action, for: app)), false)
        case .accepted(let push):
            guard let push, let phones else { return (.accepted, false) }
            if let refusal = refusal(ofTokenIn: push, phones: phones) { return (refusal, false) }
            phones.deliver(push)
            return (.accepted, true)
        }
    }

    /// Returns the refusal of a push to a token that is not valid. A channel has no such state.
    private func refusal(ofTokenIn push: AcceptedPush, phones: any SimulatedPhones) -> Reply? {
        guard case .token(let token) = push.target else { return nil }
        let status = phones.status(
            of: token, environment: push.environment, bundleID: push.bundleID, at: clock.now)
        switch status {
        case .valid: return nil
        case .unknown: return Reply(refusal: .badDeviceToken)
        case .wrongTopic: return Reply(refusal: .deviceTokenNotForTopic)
        case .unregistered(let since): return Reply(refusal: .unregistered, since: since)
        case .expired(let since): return Reply(refusal: .expiredToken, since: since)
        }
    }

    // MARK: Time

    /// Advances the clock and applies all events of the skipped time in order. Returns false above the limit
    /// of the clock. Call on the loop.
    func advanceClock(milliseconds: Int64) -> Bool {
        loop.preconditionOnLoop()
        let start = clock.now
        guard clock.advance(milliseconds: milliseconds) else { return false }
        phones?.simulate(from: start, to: clock.now)
        return true
    }

    private func tick() {
        guard !isStopping else { return }
        phones?.tick(at: clock.now)
        if let idleMilliseconds = settings.idleMilliseconds {
            shutDownConnections(idleForMilliseconds: idleMilliseconds)
        }
        delayedActions.schedule(afterMilliseconds: Self.tickMilliseconds) { [weak self] in self?.tick() }
    }

    private func shutDownConnections(idleForMilliseconds idleMilliseconds: Int) {
        for connection in connections.values
        where connection.isIdle
            && loop.now.milliseconds(since: connection.lastRequestAt) >= idleMilliseconds
        {
            connection.shutDown(reason: APNsReason.idleTimeout.rawValue)
        }
    }
}
