internal import Catalog
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Settings
internal import Topics

/// One row of the table of the stages that `flotilla run` and `flotilla up` can run.
struct StageKind: Sendable {
    let name: String
    /// One sentence for the help.
    let summary: String
    /// What it reads and writes: they must be as it needs them before it starts.
    let topics: [TopicName]
    let make: @Sendable (StageSurroundings) throws -> any Stage

    static func named(_ name: String) -> StageKind? { all.first { $0.name == name } }

    /// In the order in which a report and a send meet them.
    static let all: [StageKind] = [.gateway, .ingest]
}

/// What a stage finds in its process.
struct StageSurroundings: Sendable {
    let settings: ResolvedSettings
    /// Asked when the stage starts: the embedded broker's port is known only then.
    let kafka: @Sendable () -> KafkaSettings
    let layout: TopicLayout
    /// Who this process is to Kafka, and where its state lies.
    let slot: Slot
    /// One for all stages of the process, started before them.
    let catalog: CatalogReader
    /// Nil: tokens travel in the clear.
    let sealingKeys: SealingKeys?
}
