package import Catalog
package import Kafka
package import Members
package import TokenSealing
package import Topics

/// The values of a process that each of its stages needs: cluster, topics, catalog, keys, and its place on disk. The
/// log and the metrics come with the `ServiceContext` of the start, as for every service.
package struct StageEnvironment: Sendable {
    package let cluster: Cluster
    package let layout: TopicLayout
    /// The identity of this process to Kafka, and the directory of its state.
    package let slot: ProcessSlot
    /// The keys that seal tokens. Nil if tokens travel in plain text.
    package let sealingKeys: SealingKeys?
    /// The simulated APNs of this process. Nil if the sender pushes to the hosts of its settings.
    package let embeddedSimulator: EmbeddedAPNsSimulator?
    /// The newest calls of webhook endpoints by this process.
    package let webhookDeliveries = WebhookDeliveries()
    private let readCatalog: @Sendable () -> CatalogSnapshot?
    private let requestCatalogRefresh: @Sendable (@escaping @Sendable (CatalogSnapshot?) -> Void) -> Void

    /// Makes the environment of a process with a catalog reader.
    ///
    /// - Parameters:
    ///   - catalog: the only reader of the catalog in the process.
    ///   - embeddedSimulator: the embedded APNs simulator. Nil if the process has none.
    package init(
        cluster: Cluster, layout: TopicLayout, slot: ProcessSlot, sealingKeys: SealingKeys?,
        catalog: CatalogReader,
        embeddedSimulator: EmbeddedAPNsSimulator? = nil
    ) {
        self.cluster = cluster
        self.layout = layout
        self.slot = slot
        self.sealingKeys = sealingKeys
        self.embeddedSimulator = embeddedSimulator
        readCatalog = { catalog.catalog }
        requestCatalogRefresh = { then in catalog.readToCurrentEnd(then: then) }
    }

    /// Makes an environment without a catalog reader, for tests and benchmarks.
    ///
    /// - Parameters:
    ///   - catalog: returns the known catalog.
    ///   - readOn: reads newer catalog records. Nil for a fixed catalog.
    package init(
        cluster: Cluster, layout: TopicLayout, slot: ProcessSlot, sealingKeys: SealingKeys?,
        catalog: @escaping @Sendable () -> CatalogSnapshot?,
        readOn: (@Sendable (@escaping @Sendable (CatalogSnapshot?) -> Void) -> Void)? = nil
    ) {
        self.cluster = cluster
        self.layout = layout
        self.slot = slot
        self.sealingKeys = sealingKeys
        embeddedSimulator = nil
        readCatalog = catalog
        requestCatalogRefresh = readOn ?? { then in then(catalog()) }
    }

    /// The current apps and keys. Nil until they are known.
    package var catalog: CatalogSnapshot? { readCatalog() }

    /// Calls `then` when the catalog has every record that was acknowledged before this call, or after some seconds
    /// with the catalog that is known at that time. `then` is called on any thread.
    package func refreshCatalog(then: @escaping @Sendable (CatalogSnapshot?) -> Void) {
        requestCatalogRefresh(then)
    }

    /// Returns the Kafka identity of a stage's loop: the id of its transactions, and the beginning of its member's
    /// name.
    package func identity(of stage: String, loop: Int = 0) -> String {
        slot.identity(stage: stage, loop: loop)
    }

    /// Returns the membership of a stage's loop in a group: static, so that a restarted process keeps its partitions.
    ///
    /// - Parameter group: the name of the group, without the prefix.
    package func membership(
        of stage: String, loop: Int = 0, in group: String, reading subscription: TopicSubscription
    ) -> ConsumerOptions.Membership {
        .group(
            layout.prefix + group, instanceID: subscription.memberName(of: identity(of: stage, loop: loop)),
            topics: subscription.topics.map(layout.name))
    }

    /// Returns the directory of a stage's views.
    package func stateDirectory(of stage: String) -> String { "\(slot.path)/\(stage)" }
}
