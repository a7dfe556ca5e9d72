/// One difference between a topic in the cluster and its requirements, with the command that corrects it.
package struct TopicMismatch: Sendable, Hashable, CustomStringConvertible {
    /// The property that differs. All cases except the first two are settings of a topic, and their raw values are
    /// Kafka's names of these settings.
    package enum Property: String, Sendable {
        case existence
        /// The number of partitions.
        case partitions
        case cleanup = "cleanup.policy"
        case retention = "retention.ms"
        case deleteRetention = "delete.retention.ms"
        case compactionLag = "max.compaction.lag.ms"
        case recordBytes = "max.message.bytes"
        case timestamps = "message.timestamp.type"
        case insyncReplicas = "min.insync.replicas"
    }

    /// The topic's name with its prefix.
    package let topic: String
    package let property: Property
    /// The present value as text, or `none` if it is not set.
    package let actual: String
    /// The requirement in words, for example `at least 86400000`.
    package let required: String
    /// The value that corrects the setting, for example `86400000`. Nil if the property is not a setting.
    package var setting: String?

    package var description: String {
        switch property {
        case .existence: "topic \(topic) is missing; create it with `flotilla topics create`"
        case .partitions:
            "topic \(topic) has \(actual) partitions, \(required) are needed; a topic's partitions are fixed once "
                + "it is created: set topics.lanes to the cluster's number, or choose another topics.prefix"
        case .cleanup, .retention, .deleteRetention, .compactionLag, .recordBytes, .timestamps,
            .insyncReplicas:
            "topic \(topic) has \(property.rawValue) \(actual), \(required) is needed; "
                + "fix it with `flotilla topics alter`, or with your cluster's own tool: \(command)"
        }
    }

    /// The command of Kafka's own tool, ready to paste.
    private var command: String {
        // Each mismatch of a setting has a value.
        let value = setting ?? ""
        // The tool needs brackets around a list.
        let argument = value.contains(",") ? "[\(value)]" : value
        return "kafka-configs --bootstrap-server BROKER --alter --entity-type topics --entity-name \(topic) "
            + "--add-config \(property.rawValue)=\(argument)"
    }
}

/// The error of a stage that cannot start, because its topics do not meet their requirements.
package struct MismatchedTopics: Error, CustomStringConvertible {
    package let mismatches: [TopicMismatch]

    package init(mismatches: [TopicMismatch]) { self.mismatches = mismatches }

    /// One line for each mismatch.
    package var description: String { mismatches.map(\.description).joined(separator: "\n") }
}
