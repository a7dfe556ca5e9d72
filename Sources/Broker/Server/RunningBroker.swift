internal import Glibc
internal import Lifecycle
package import Telemetry

/// A broker that serves: one event loop with all its state, one thread that syncs, one listener.
/// For the command, for `flotilla up`, and in process for tests.
package final class RunningBroker: Sendable {
    /// The loop's state, reachable from other threads only through its jobs.
    ///
    /// `@unchecked Sendable`: `node` is read and written on the loop's thread only.
    private final class Confined: @unchecked Sendable {
        var node: BrokerNode?
        var upkeep: LoopTimer?
    }

    private static let drainMillisecondsMax = 2_000

    package let host: String
    package let port: Int
    private let settings: BrokerSettings
    private let loop: EventLoop
    private let listener: Listener
    private let confined: Confined
    private let disk: DiskThreads

    /// Recovers the data directory, binds, and serves. Blocks until then; throws one sentence, and
    /// leaves nothing running, if it cannot.
    package init(_ settings: BrokerSettings, log: Log = .silent, metrics: Metrics = Metrics()) throws {
        try Self.checkAddress(settings, log)
        self.settings = settings
        let loop = try EventLoop(name: "broker")
        let confined = Confined()
        try loop.start()
        do {
            let (flusher, worker) = try Self.open(
                settings, on: loop, confined: confined, log: log, metrics: metrics)
            disk = try DiskThreads(flusher, worker)
        } catch {
            Self.close(confined, loop)
            throw error
        }
        do {
            listener = try Listener(
                host: settings.host, port: settings.port, on: [loop],
                connectionsMax: settings.limits.connectionsMax, options: Self.options(settings.limits)
            ) { connection in confined.node?.accept(connection) }
        } catch {
            disk.stop()
            Self.close(confined, loop)
            throw error
        }
        self.loop = loop
        self.confined = confined
        host = settings.advertisedHost ?? listener.address.host
        port = listener.port
        let advertisedPort = UInt16(clamping: settings.advertisedPort ?? listener.port)
        let advertisedHost = host
        loop.execute { confined.node?.identify(host: advertisedHost, port: advertisedPort) }
        log.info(
            "serving", .field("address", listener.address.description), .field("data", settings.dataDirectory)
        )
    }

    private static func checkAddress(_ settings: BrokerSettings, _ log: Log) throws {
        guard !settings.isLoopback else { return }
        guard settings.allowRemote else { throw BrokerError.remoteAddress(settings.host) }
        log.warning(
            "listening beyond this machine without TLS and without users: anybody who reaches the port may read and write",
            .field("host", settings.host))
    }

    private static func options(_ limits: SessionLimits) -> TCPOptions {
        var options = TCPOptions()
        options.highWaterBytes = limits.outputBytesMax
        return options
    }

    /// Makes the state on the loop's thread, where it stays.
    private static func open(
        _ settings: BrokerSettings, on loop: EventLoop, confined: Confined, log: Log, metrics: Metrics
    ) throws -> (Flusher, DiskWorker) {
        let opened = loop.perform { () -> Result<(Flusher, DiskWorker), any Error> in
            Result {
                let topics = try TopicStore(
                    path: settings.dataDirectory, flush: settings.flush, disk: settings.disk, log: log,
                    metrics: metrics
                ) { [weak loop] in
                    loop?.execute { confined.node?.topics.deliver() }
                }
                let identity = Node(
                    host: settings.host, port: UInt16(settings.port), clusterID: topics.clusterID)
                confined.node = try BrokerNode(
                    loop: loop, settings: settings, identity: identity, topics: topics, log: log,
                    metrics: metrics)
                startUpkeep(confined, loop)
                return (topics.flusher, topics.worker)
            }
        }
        guard let opened else { throw BrokerError.loopEnded }
        return try opened.get()
    }

    private static func startUpkeep(_ confined: Confined, _ loop: EventLoop) {
        let timer = LoopTimer(on: loop) { [unowned confined, unowned loop] in
            confined.node?.upkeep()
            confined.upkeep?.schedule(at: loop.now.advanced(byMilliseconds: TopicStore.upkeepMilliseconds))
        }
        timer.schedule(at: loop.now.advanced(byMilliseconds: TopicStore.upkeepMilliseconds))
        confined.upkeep = timer
    }

    // MARK: The end

    /// Takes no more requests, answers what is under way, syncs and closes. Blocks until it is done;
    /// not from an event loop.
    package func stop() {
        listener.stop()
        loop.execute { [confined] in confined.node?.drain() }
        let deadline = Instant.now().advanced(byMilliseconds: Self.drainMillisecondsMax)
        while Instant.now() < deadline, loop.perform({ [confined] in confined.node?.owesAppends }) == true {
            usleep(1_000)
        }
        _ = loop.perform { [confined] in confined.node?.closeConnections() }
        disk.stop()
        Self.close(confined, loop)
        if settings.removesDataAtStop { Self.removeTree(settings.dataDirectory) }
    }

    private static func close(_ confined: Confined, _ loop: EventLoop) {
        _ = loop.perform {
            confined.upkeep?.cancel()
            confined.upkeep = nil
            confined.node?.close()
            confined.node = nil
        }
        loop.stop()
    }

    /// What stays behind if this fails lies in the system's temporary directory.
    private static func removeTree(_ path: String) {
        let disk = Disk()
        let logs = path + "/logs"
        for name in (try? disk.names(in: logs)) ?? [] { try? disk.removeDirectory(logs + "/" + name) }
        try? disk.removeDirectory(logs)
        try? disk.removeDirectory(path)
    }
}
