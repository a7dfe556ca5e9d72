package import Kafka
package import Lifecycle
package import Telemetry

/// The service that reads the topic `catalog` on its own thread and publishes the current snapshot. A process
/// has one. It also starts while Kafka is down. Then there is no catalog, and the stages that need it are not
/// ready.
package final class CatalogReader: Service {
    /// The default limit of `readToCurrentEnd`.
    package static let readToEndMillisecondsMax = 3000
    /// The wait for records in each poll of `readToEnd`.
    private static let pollMilliseconds: Int32 = 50

    package let name = "catalog"
    private let cluster: Cluster
    private let topic: String
    private let currentCatalog = TracedLock(CatalogSnapshot?.none)
    private let thread = StartedParts<LoopOwned<CatalogLoop>>()

    /// - Parameter topic: The name with its prefix.
    package init(_ cluster: Cluster, topic: String) {
        self.cluster = cluster
        self.topic = topic
    }

    /// The current catalog, or nil until the topic has been read to its end once.
    package var catalog: CatalogSnapshot? { currentCatalog.withLock { $0 } }

    /// Reads until all records are known that were acknowledged before this call, also those of other
    /// processes. Calls `then` on the catalog's thread, with the catalog of that time. After the limit it
    /// passes the current catalog, or nil.
    package func readToCurrentEnd(
        withinMilliseconds limit: Int = CatalogReader.readToEndMillisecondsMax,
        then: @escaping @Sendable (CatalogSnapshot?) -> Void
    ) {
        guard let thread = thread.parts else { return then(catalog) }
        let deadline = Instant.now().advanced(byMilliseconds: limit)
        let isTaken = thread.execute { $0.readToCurrentEnd(until: deadline) { then(self.catalog) } }
        if !isTaken { then(catalog) }
    }

    package func start(_ context: ServiceContext) async throws {
        let (cluster, topic) = (cluster, topic)
        let thread = try LoopOwned(thread: "catalog") {
            try CatalogLoop(on: $0.loop) {
                try CatalogFollower(cluster, topic: topic, log: context.log, metrics: context.metrics)
            } publish: { catalog in
                let isFirst = self.currentCatalog.withLock { current in
                    let wasUnknown = current == nil
                    current = catalog
                    return wasUnknown
                }
                if isFirst {
                    context.log.info("the catalog has been read", .field("apps", catalog.apps.count))
                }
            } fail: { error in
                context.fail(with: error)
            }
        }
        self.thread.set(thread)
    }

    package func stop(by deadline: Instant) async {
        thread.take()?.stop()
    }

    /// Reads the whole topic to its current end, for a command, which has no running reader. Blocks the thread.
    package static func readToEnd(
        _ settings: KafkaSettings, topic: String, withinMilliseconds limit: Int = 15_000, metrics: Metrics
    ) throws -> CatalogSnapshot {
        // Fails at once, with a clear error, if the cluster or the topic has a problem.
        _ = try AdminClient(settings: settings, log: .silent, metrics: metrics).describe(topic)
        let follower = try CatalogFollower(
            Cluster(settings: settings), topic: topic, log: .silent, metrics: metrics)
        let deadline = Instant.now().advanced(byMilliseconds: limit)
        try follower.begin(withinMilliseconds: limit)
        while !follower.isAtEnd {
            guard Instant.now() < deadline else {
                throw KafkaError(action: "read \(topic)", code: .timedOut, text: "the end was not reached")
            }
            _ = try follower.poll(waitMilliseconds: Self.pollMilliseconds)
        }
        return follower.catalog
    }
}
