internal import Glibc
internal import Lifecycle
package import Telemetry

/// A running broker: one event loop with all its state, the threads for the disk, and one listener.
package final class RunningBroker: Sendable {
    /// The node, and the timer of its upkeep. Confined to the loop.
    private final class ServedNode {
        let node: BrokerNode
        private var upkeepTimer: LoopTimer?

        init(node: BrokerNode, loop: EventLoop) {
            self.node = node
            upkeepTimer = LoopTimer(on: loop) { [unowned self, unowned loop] in
                node.upkeep()
                schedule(on: loop)
            }
            schedule(on: loop)
        }

        private func schedule(on loop: EventLoop) {
            upkeepTimer?.schedule(at: loop.now.advanced(byMilliseconds: TopicStore.upkeepMilliseconds))
        }

        func close() {
            upkeepTimer?.cancel()
            node.close()
        }
    }

    /// The longest wait for open appends at a stop.
    private static let drainMillisecondsMax = 2_000

    package let host: String
    package let port: Int
    private let settings: BrokerSettings
    private let served: LoopOwned<ServedNode>
    private let listener: TCPListener
    private let disk: DiskThreads

    /// Recovers the data directory, binds and serves. Blocks until it serves. If it throws, nothing is
    /// left running.
    package init(settings: BrokerSettings, log: Log = .silent, metrics: Metrics = Metrics()) throws {
        try Self.checkAddress(of: settings, log: log)
        self.settings = settings
        let served = try Self.openNode(settings: settings, log: log, metrics: metrics)
        do {
            let threads = served.perform { ($0.node.topics.flusher, $0.node.topics.worker) }
            guard let (flusher, worker) = threads else { throw BrokerError.loopEnded }
            disk = try DiskThreads(flusher: flusher, worker: worker)
        } catch {
            served.stop { $0.close() }
            throw error
        }
        do {
            listener = try TCPListener(
                host: settings.host, port: settings.port, on: [served.loop],
                connectionsMax: settings.limits.connectionsMax, options: Self.options(for: settings.limits)
            ) { connection in served.valueOnLoop.node.accept(connection) }
        } catch {
            disk.stop()
            served.stop { $0.close() }
            throw error
        }
        self.served = served
        host = settings.advertisedHost ?? listener.address.host
        port = listener.port
        let advertisedPort = UInt16(clamping: settings.advertisedPort ?? listener.port)
        let advertisedHost = host
        served.execute { $0.node.setAddress(host: advertisedHost, port: advertisedPort) }
        log.info(
            "serving", .field("address", listener.address.description), .field("data", settings.dataDirectory)
        )
    }

    private static func checkAddress(of settings: BrokerSettings, log: Log) throws {
        guard !settings.isLoopback else { return }
        guard settings.allowRemote else { throw BrokerError.remoteAddress(settings.host) }
        log.warning(
            "listening beyond this machine without TLS and without users: every host that reaches the port can read and write",
            .field("host", settings.host))
    }

    private static func options(for limits: SessionLimits) -> TCPOptions {
        var options = TCPOptions()
        options.highWaterBytes = limits.outputBytesMax
        return options
    }

    /// Makes the node on the loop's thread, to which it is confined.
    private static func openNode(
        settings: BrokerSettings, log: Log, metrics: Metrics
    ) throws -> LoopOwned<ServedNode> {
        try LoopOwned(thread: "broker") { owner in
            let topics = try TopicStore(
                path: settings.dataDirectory, flush: settings.flush, disk: settings.disk, log: log,
                metrics: metrics
            ) { [weak owner] in
                owner?.execute { $0.node.deliver() }
            }
            let identity = Node(
                host: settings.host, port: UInt16(settings.port), clusterID: topics.clusterID)
            let node = try BrokerNode(
                loop: owner.loop, settings: settings, identity: identity, topics: topics, log: log,
                metrics: metrics)
            return ServedNode(node: node, loop: owner.loop)
        }
    }

    // MARK: Stop

    /// Takes no more requests, answers the open appends, syncs and closes. Blocks until that is done, so it
    /// must not be called on an event loop.
    package func stop() {
        listener.stop()
        served.execute { $0.node.drain() }
        let deadline = Instant.now().advanced(byMilliseconds: Self.drainMillisecondsMax)
        while Instant.now() < deadline, served.perform({ $0.node.hasPendingAppends }) == true {
            usleep(1_000)
        }
        _ = served.perform {
            $0.node.closeConnections()
            $0.node.topics.prepareClose()
        }
        disk.stop()
        served.stop { $0.close() }
        if settings.removesDataAtStop { Self.removeTree(settings.dataDirectory) }
    }

    /// Removes the data directory. Files that cannot be removed stay in the system's temporary directory.
    private static func removeTree(_ path: String) {
        let disk = Disk()
        let logs = path + "/logs"
        for name in (try? disk.names(in: logs)) ?? [] {
            let path = logs + "/" + name
            if (try? disk.removeDirectory(at: path)) == nil { try? disk.removeFile(at: path) }
        }
        try? disk.removeDirectory(at: logs)
        try? disk.removeDirectory(at: path)
    }
}
