package import Catalog
package import Kafka
package import LiveActivity
package import Topics

/// What every stage of a process finds there. Its log and its metrics come with the `ServiceContext` of its
/// start, as every service's do.
package struct StageEnvironment: Sendable {
    package let cluster: Cluster
    package let layout: TopicLayout
    /// Who this process is to Kafka, and where its state lies.
    package let slot: Slot
    /// Nil: tokens travel in the clear.
    package let sealingKeys: SealingKeys?
    /// Nil: who pushes does so to where its settings say.
    package let standIn: APNsStandIn?
    private let readCatalog: @Sendable () -> KnownCatalog?
    private let readCatalogOn: @Sendable (@escaping @Sendable (KnownCatalog?) -> Void) -> Void

    /// - Parameter catalog: the process's one reader of the catalogue.
    package init(
        cluster: Cluster, layout: TopicLayout, slot: Slot, sealingKeys: SealingKeys?, catalog: CatalogReader,
        standIn: APNsStandIn? = nil
    ) {
        self.cluster = cluster
        self.layout = layout
        self.slot = slot
        self.sealingKeys = sealingKeys
        self.standIn = standIn
        readCatalog = { catalog.catalog }
        readCatalogOn = { then in catalog.readOn(then: then) }
    }

    /// - Parameters:
    ///   - catalog: what is known of the catalogue, where no reader follows it.
    ///   - readOn: learns what is newer; nil where nothing is.
    package init(
        cluster: Cluster, layout: TopicLayout, slot: Slot, sealingKeys: SealingKeys?,
        catalog: @escaping @Sendable () -> KnownCatalog?,
        readOn: (@Sendable (@escaping @Sendable (KnownCatalog?) -> Void) -> Void)? = nil
    ) {
        self.cluster = cluster
        self.layout = layout
        self.slot = slot
        self.sealingKeys = sealingKeys
        standIn = nil
        readCatalog = catalog
        readCatalogOn = readOn ?? { then in then(catalog()) }
    }

    /// The apps and keys as they are now; nil until they are known.
    package var catalog: KnownCatalog? { readCatalog() }

    /// Answers, from any thread, when everything is known that was acknowledged before this call, or after some
    /// seconds with what is known.
    package func readCatalogOn(then: @escaping @Sendable (KnownCatalog?) -> Void) { readCatalogOn(then) }

    /// Who a loop of a stage is to Kafka: its member's and its transactions' id.
    package func identity(of stage: String, loop: Int = 0) -> String {
        slot.identity(stage: stage, loop: loop)
    }

    /// Where a stage keeps its views.
    package func stateDirectory(of stage: String) -> String { "\(slot.path)/\(stage)" }
}
