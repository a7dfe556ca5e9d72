internal import Kafka
internal import Lifecycle
internal import Settings
internal import StageSupport
internal import Telemetry

extension Command {
    /// `flotilla lag`: shows how far the consumer groups are behind. An operator asks this first when
    /// something is slow.
    static let lag = Command(
        name: "lag", summary: "Shows how many records each consumer group still has to read.",
        usage: "[GROUP…] [--each] [--json]",
        example: "flotilla lag --kafka-brokers kafka-1:9092,kafka-2:9092",
        settings: ["kafka."],
        options: [
            .flag("--each", "prints each partition instead of the sums of a group's topics"),
            .flag(
                "--json",
                "prints one JSON object per partition instead of a table; committed is missing if the group has no offset"
            ),
        ]
    ) { invocation in
        let kafka = invocation.settings[KafkaSettings.self]
        let admin = try AdminClient(settings: kafka, log: .silent, metrics: Metrics())
        let rows = try LagRow.rows(ofGroups: invocation.positionals, from: admin, settings: kafka)
        if invocation.isJSON {
            for row in rows { print(row.json) }
        } else if rows.isEmpty {
            print("no group has committed an offset")
        } else if invocation.hasOption("--each") {
            print(Table(headers: LagRow.headers, rows: rows.map(\.cells)).text)
        } else {
            print(LagSums(of: rows).text)
        }
    }
}

/// One partition that a consumer group reads, as a row of the output.
struct LagRow {
    static let headers = ["group", "topic", "partition", "committed", "end", "lag"]

    let group: String
    let partition: TopicPartition
    let committed: Int64?
    let end: Int64
    /// The number of waiting records. Markers of transactions, which no consumer sees, are not counted if nothing
    /// else waits.
    let recordCount: Int64

    /// Returns the rows of the named groups, or of all groups if no group is named.
    static func rows(
        ofGroups namedGroups: [String], from admin: AdminClient, settings: KafkaSettings
    ) throws -> [LagRow] {
        let existingGroups = try admin.groupNames()
        for group in namedGroups where !existingGroups.contains(group) {
            throw CommandError(status: .usage, "there is no group \(group); omit the name to see all groups")
        }
        let partitions = try admin.topics().flatMap { topic in
            topic.partitions.map { TopicPartition(topic.name, $0) }
        }
        let shownGroups = namedGroups.isEmpty ? existingGroups.sorted() : namedGroups
        let lags = try shownGroups.flatMap { group in
            try admin.lagOfConsumedPartitions(by: group, among: partitions).map { (group, $0) }
        }
        // The end of a partition is behind the marker of its last transaction, and a consumer commits the offset
        // after its last record. Only a look at the records tells the two apart.
        let caughtUp = try caughtUpPositions(of: lags.map { $0.1 }, settings: settings)
        return lags.map { group, lag in
            let isCaughtUp = caughtUp.contains(UnreadRecordReader.GroupPosition(of: lag))
            return LagRow(
                group: group, partition: lag.committed.partition, committed: lag.committed.offset,
                end: lag.watermarks.high, recordCount: isCaughtUp ? 0 : lag.recordCount)
        }
    }

    /// The passes of the look at the records. Each has a time limit, and finds some of the positions.
    private static let passesMax = 6

    /// Returns the positions behind which no record waits.
    private static func caughtUpPositions(
        of lags: [GroupLag], settings: KafkaSettings
    ) throws -> Set<UnreadRecordReader.GroupPosition> {
        let reader = try UnreadRecordReader(settings: settings, log: .silent)
        let behind = lags.filter { $0.recordCount > 0 }
        var unknown = Set(behind.map { UnreadRecordReader.GroupPosition(of: $0) })
        var caughtUp: Set<UnreadRecordReader.GroupPosition> = []
        for _ in 0..<passesMax where !unknown.isEmpty {
            let unread = try reader.readOldest(at: unknown)
            caughtUp.formUnion(unread.caughtUp)
            unknown.subtract(unread.caughtUp)
            unknown.subtract(unread.oldest.keys)
        }
        return caughtUp
    }

    var cells: [String] {
        [
            group, partition.topic, String(partition.partition), committed.map(String.init) ?? "–",
            String(end), String(recordCount),
        ]
    }

    var json: String {
        var writer = JSONLine()
        writer.field("group", group)
        writer.field("topic", partition.topic)
        writer.field("partition", Int64(partition.partition))
        if let committed { writer.field("committed", committed) }
        writer.field("end", end)
        writer.field("lag", recordCount)
        return writer.text
    }
}

/// The sums of the rows of each group and topic, and of all.
struct LagSums {
    private let rows: [(group: String, topic: String, behind: Int, partitions: Int, records: Int64)]

    init(of rows: [LagRow]) {
        let topics = Dictionary(grouping: rows) { [$0.group, $0.partition.topic] }
        self.rows = topics.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { names, rows in
            (
                names[0], names[1], rows.count { $0.recordCount > 0 }, rows.count,
                rows.reduce(0) { $0 + $1.recordCount }
            )
        }
    }

    var text: String {
        let table = Table(
            headers: ["group", "topic", "partitions", "behind", "lag"],
            rows: rows.map {
                [$0.group, $0.topic, String($0.partitions), String($0.behind), String($0.records)]
            })
        let records = rows.reduce(0) { $0 + $1.records }
        let sum =
            records == 0
            ? "all groups have read everything" : "\(records) records wait; see --each for partitions"
        return table.text + "\n" + sum
    }
}
