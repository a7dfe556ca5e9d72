/// One thing about a topic that is not as the stages need it.
package struct TopicMismatch: Sendable, Hashable, CustomStringConvertible {
    package enum Property: String, Sendable {
        case existence
        case partitions
        case cleanup = "cleanup.policy"
        case retention = "retention.ms"
        case deleteRetention = "delete.retention.ms"
        case recordBytes = "max.message.bytes"
        case timestamps = "message.timestamp.type"
        case insync = "min.insync.replicas"
    }

    package let topic: String
    package let property: Property
    package let have: String
    package let want: String
    /// What the topic's setting must be for that; nil where it is no setting.
    package var setting: String?

    package var description: String {
        switch property {
        case .existence: "topic \(topic) is missing; create it with `flotilla topics create`"
        case .partitions:
            "topic \(topic) has \(have) partitions, \(want) are needed; a topic's partitions are fixed once "
                + "it is created: set topics.lanes to what the cluster has, or choose another topics.prefix"
        case .cleanup, .retention, .deleteRetention, .recordBytes, .timestamps, .insync:
            "topic \(topic) has \(property.rawValue) \(have), \(want) is needed; "
                + "mend it with `flotilla topics alter`, or with your cluster's own tool: \(command)"
        }
    }

    /// Kafka's own, to be pasted; a list stands in brackets there.
    private var command: String {
        let value = setting ?? ""
        return "kafka-configs --bootstrap-server BROKER --alter --entity-type topics --entity-name \(topic) "
            + "--add-config \(property.rawValue)=\(value.contains(",") ? "[\(value)]" : value)"
    }
}

/// Topics are not as they must be, and nobody who leans on them may start.
package struct UnfitTopics: Error, CustomStringConvertible {
    package let mismatches: [TopicMismatch]

    package init(mismatches: [TopicMismatch]) { self.mismatches = mismatches }

    /// One line each.
    package var description: String { mismatches.map(\.description).joined(separator: "\n") }
}
