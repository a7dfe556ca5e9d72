package import Kafka
package import LiveActivity
package import Topics

/// Where a loop runs: its cluster, its topics, its name and its directory.
package struct IngestPlace: Sendable {
    package var kafka: KafkaSettings
    package var layout: TopicLayout
    /// From the slot: both the member's and the transactions' id.
    package var identity: String
    /// Where the views lie, a directory for each partition.
    package var stateDirectory: String
    package var sealingKeys: SealingKeys?
    /// The apps as the catalogue has them now; nil while it has not been read to its end.
    package var apps: @Sendable () -> [String: App]?

    package init(
        kafka: KafkaSettings, layout: TopicLayout, identity: String, stateDirectory: String,
        sealingKeys: SealingKeys?, apps: @escaping @Sendable () -> [String: App]?
    ) {
        self.kafka = kafka
        self.layout = layout
        self.identity = identity
        self.stateDirectory = stateDirectory
        self.sealingKeys = sealingKeys
        self.apps = apps
    }
}
