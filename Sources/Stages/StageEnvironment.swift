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
    private let readCatalog: @Sendable () -> CatalogView?

    /// - Parameter catalog: what the process's one reader of the catalogue knows; nil until it has read the
    ///   topic to its end.
    package init(
        cluster: Cluster, layout: TopicLayout, slot: Slot, sealingKeys: SealingKeys?,
        catalog: @escaping @Sendable () -> CatalogView?
    ) {
        self.cluster = cluster
        self.layout = layout
        self.slot = slot
        self.sealingKeys = sealingKeys
        readCatalog = catalog
    }

    /// The apps and keys as they are now; nil until they are known.
    package var catalog: CatalogView? { readCatalog() }

    /// Who a loop of a stage is to Kafka: its member's and its transactions' id.
    package func identity(of stage: String, loop: Int = 0) -> String {
        slot.identity(stage: stage, loop: loop)
    }

    /// Where a stage keeps its views.
    package func stateDirectory(of stage: String) -> String { "\(slot.path)/\(stage)" }
}
