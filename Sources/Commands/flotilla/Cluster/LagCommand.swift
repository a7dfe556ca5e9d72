internal import Kafka
internal import Lifecycle
internal import Settings
internal import Telemetry

extension Command {
    /// `flotilla lag`: shows how far the consumer groups are behind. An operator asks this first when
    /// something is slow.
    static let lag = Command(
        name: "lag", summary: "Shows how many records each consumer group still has to read.",
        usage: "[GROUP…] [--json]", example: "flotilla lag --kafka-brokers kafka-1:9092,kafka-2:9092",
        settings: ["kafka."],
        options: [
            .flag(
                "--json",
                "prints one JSON object per line instead of a table; committed is missing if the group has no offset"
            )
        ]
    ) { invocation in
        let admin = try AdminClient(
            settings: invocation.settings[KafkaSettings.self], log: .silent, metrics: Metrics())
        let rows = try LagRow.rows(ofGroups: invocation.positionals, from: admin)
        if invocation.isJSON {
            for row in rows { print(row.json) }
        } else if rows.isEmpty {
            print("no group has committed an offset")
        } else {
            print(Table(headers: LagRow.headers, rows: rows.map(\.cells)).text)
        }
    }
}

/// One partition that a consumer group reads, as a row of the output.
private struct LagRow {
    static let headers = ["group", "topic", "partition", "committed", "end", "lag"]

    let group: String
    let lag: GroupLag

    /// Returns the rows of the named groups, or of all groups if no group is named.
    static func rows(ofGroups namedGroups: [String], from admin: AdminClient) throws -> [LagRow] {
        let existingGroups = try admin.groupNames()
        for group in namedGroups where !existingGroups.contains(group) {
            throw CommandError(status: .usage, "there is no group \(group); omit the name to see all groups")
        }
        let partitions = try admin.topics().flatMap { topic in
            topic.partitions.map { TopicPartition(topic.name, $0) }
        }
        let shownGroups = namedGroups.isEmpty ? existingGroups.sorted() : namedGroups
        return try shownGroups.flatMap { group in
            try admin.lagOfConsumedPartitions(by: group, among: partitions).map {
                LagRow(group: group, lag: $0)
            }
        }
    }

    private var partition: TopicPartition { lag.committed.partition }

    var cells: [String] {
        [
            group, partition.topic, String(partition.partition), lag.committed.offset.map(String.init) ?? "–",
            String(lag.watermarks.high), String(lag.recordCount),
        ]
    }

    var json: String {
        var writer = JSONLine()
        writer.field("group", group)
        writer.field("topic", partition.topic)
        writer.field("partition", Int64(partition.partition))
        if let committed = lag.committed.offset { writer.field("committed", committed) }
        writer.field("end", lag.watermarks.high)
        writer.field("lag", lag.recordCount)
        return writer.text
    }
}
