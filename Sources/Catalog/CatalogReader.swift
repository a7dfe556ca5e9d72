package import Kafka
package import Lifecycle
package import Telemetry

/// Follows `catalog` on a thread of its own and hands out what it says now. It starts without Kafka, and
/// then knows nothing: whoever needs the catalogue is not ready until there is a catalog.
package final class CatalogReader: Service {
    package let name = "catalog"
    private let cluster: Cluster
    private let topic: String
    private let known = TracedLock(KnownCatalog?.none)
    private let thread = Started<LoopOwned<CatalogRounds>>()

    /// - Parameter topic: with its prefix.
    package init(_ cluster: Cluster, topic: String) {
        self.cluster = cluster
        self.topic = topic
    }

    /// Nil until the topic has been read to its end once.
    package var catalog: KnownCatalog? { known.withLock { $0 } }

    /// Reads on until everything is known that was acknowledged to anybody before this call: what another
    /// process has written counts here at once. Answers later, on the catalogue's thread, with what is known
    /// then; after the limit with what is known, if anything is.
    package func readOn(
        withinMilliseconds limit: Int = CatalogReader.readOnMillisecondsMax,
        then: @escaping @Sendable (KnownCatalog?) -> Void
    ) {
        guard let thread = thread.parts else { return then(catalog) }
        let until = Instant.now().advanced(byMilliseconds: limit)
        let isTaken = thread.execute { $0.readOn(until: until) { then(self.catalog) } }
        if !isTaken { then(catalog) }
    }

    package static let readOnMillisecondsMax = 3000

    package func start(_ context: ServiceContext) async throws {
        let (settings, topic) = (cluster.settings, topic)
        let thread = try LoopOwned(thread: "catalog") {
            try CatalogRounds(on: $0.loop) {
                try CatalogFollower(settings, topic: topic, log: context.log, metrics: context.metrics)
            } publish: { catalog in
                let isFirst = self.known.withLock { known in
                    defer { known = catalog }
                    return known == nil
                }
                if isFirst {
                    context.log.info("the catalogue has been read", .field("apps", catalog.apps.count))
                }
            } fail: { error in
                context.fail(error)
            }
        }
        self.thread.put(thread)
    }

    package func stop(by deadline: Instant) async {
        thread.take()?.stop()
    }

    /// Reads the topic to its present end, for a command that answers and goes. Blocks.
    package static func readToEnd(
        _ settings: KafkaSettings, topic: String, withinMilliseconds limit: Int = 15_000, metrics: Metrics
    ) throws -> KnownCatalog {
        // Says at once, and by name, what is wrong with the cluster or the topic.
        _ = try Admin(settings, log: .silent, metrics: metrics).describe(topic)
        let follower = try CatalogFollower(
            settings, topic: topic, isAwaited: true, log: .silent, metrics: metrics)
        let deadline = Instant.now().advanced(byMilliseconds: limit)
        try follower.begin(withinMilliseconds: limit)
        while !follower.isAtEnd {
            guard Instant.now() < deadline else {
                throw KafkaError("read \(topic)", .timedOut, text: "no end in sight")
            }
            _ = try follower.poll(waitMilliseconds: 50)
        }
        return follower.catalog
    }
}
