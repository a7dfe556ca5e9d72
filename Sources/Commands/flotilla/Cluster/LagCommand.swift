internal import JSON
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
            .flag("--json", "prints one JSON object per partition instead of a table"),
        ]
    ) { invocation in
        let rows = try LagQuery(of: invocation.positionals, settings: invocation.settings[KafkaSettings.self])
            .rows()
        if invocation.isJSON {
            for row in rows { print(row.json) }
        } else if rows.isEmpty {
            let groups = invocation.positionals.joined(separator: ", ")
            print(groups.isEmpty ? "no group has committed an offset" : "\(groups): no offset is committed")
        } else if invocation.hasOption("--each") {
            print(Table(headers: LagRow.headers, rows: rows.map(\.cells)).text)
        } else {
            print(LagSums(of: rows).text)
        }
    }
}

/// A look at the lag of consumer groups in the partitions in which they have committed an offset.
///
/// The end of a partition counts transaction markers, which no consumer sees. A group that has read the last record
/// of a transaction is one offset behind the end. So the query looks whether a record waits behind the committed
/// offset.
struct LagQuery {
    /// The maximum number of passes of `UnreadRecordReader`. A pass has a time limit, and the next one looks at the
    /// positions that it did not reach.
    private static let passesMax = 6

    /// The names of the groups; empty for all groups.
    private let namedGroups: [String]
    private let settings: KafkaSettings

    init(of groups: [String], settings: KafkaSettings) {
        namedGroups = groups
        self.settings = settings
    }

    func rows() throws -> [LagRow] {
        let admin = try AdminClient(settings: settings, log: .silent, metrics: Metrics())
        let existingGroups = try admin.groupNames()
        for group in namedGroups where !existingGroups.contains(group) {
            throw CommandError(status: .usage, "there is no group \(group); omit the name to see all groups")
        }
        let partitions = try admin.topics().flatMap { topic in
            topic.partitions.map { TopicPartition(topic.name, $0) }
        }
        let shownGroups = namedGroups.isEmpty ? existingGroups.sorted() : namedGroups
        let lagsByGroup = try shownGroups.map { group in
            (group: group, lags: try admin.lagOfConsumedPartitions(by: group, among: partitions))
        }
        let caughtUp = try caughtUpPositions(of: lagsByGroup.flatMap(\.lags))
        return lagsByGroup.flatMap { group, lags in
            lags.compactMap { lag in
                guard let committed = lag.committed.offset else { return nil }
                let isCaughtUp = caughtUp.contains(UnreadRecordReader.GroupPosition(of: lag))
                return LagRow(
                    group: group, partition: lag.committed.partition, committed: committed,
                    end: lag.watermarks.high, lag: isCaughtUp ? 0 : lag.recordCount)
            }
        }
    }

    /// Returns the positions behind which no record waits. A position that no pass reached is not among them.
    private func caughtUpPositions(of lags: [GroupLag]) throws -> Set<UnreadRecordReader.GroupPosition> {
        let reader = try UnreadRecordReader(settings: settings, log: .silent)
        let behind = lags.filter { $0.recordCount > 0 }
        var unknown = Set(behind.map { UnreadRecordReader.GroupPosition(of: $0) })
        var caughtUp: Set<UnreadRecordReader.GroupPosition> = []
        for _ in 0..<Self.passesMax where !unknown.isEmpty {
            let unread = try reader.readOldest(at: unknown)
            caughtUp.formUnion(unread.caughtUp)
            unknown.subtract(unread.caughtUp)
            let withUnreadRecord = unread.oldest.keys
            unknown.subtract(withUnreadRecord)
        }
        return caughtUp
    }
}

/// One partition that a consumer group reads, as a row of the output.
struct LagRow {
    static let headers = ["group", "topic", "partition", "committed", "end", "lag"]

    let group: String
    let partition: TopicPartition
    let committed: Int64
    let end: Int64
    /// The number of offsets from the committed one to the end, transaction markers included. 0 if none of them has a
    /// record.
    let lag: Int64

    var cells: [String] {
        [
            group, partition.topic, String(partition.partition), String(committed), String(end), String(lag),
        ]
    }

    var json: String {
        JSONLine.text { json in
            json.field("group", group)
            json.field("topic", partition.topic)
            json.field("partition", Int64(partition.partition))
            json.field("committed", committed)
            json.field("end", end)
            json.field("lag", lag)
        }
    }
}

/// The sums of the rows of each group and topic, and of all.
struct LagSums {
    private struct Row {
        let group: String
        let topic: String
        let partitions: Int
        let partitionsBehind: Int
        let lag: Int64

        var cells: [String] { [group, topic, String(partitions), String(partitionsBehind), String(lag)] }
    }

    private static let headers = ["group", "topic", "partitions", "behind", "lag"]

    private let rows: [Row]

    init(of rows: [LagRow]) {
        struct Key: Hashable {
            let group: String
            let topic: String
        }
        let rowsByKey = Dictionary(grouping: rows) { Key(group: $0.group, topic: $0.partition.topic) }
        self.rows = rowsByKey.sorted { ($0.key.group, $0.key.topic) < ($1.key.group, $1.key.topic) }.map {
            key, rows in
            Row(
                group: key.group, topic: key.topic, partitions: rows.count,
                partitionsBehind: rows.count { $0.lag > 0 }, lag: rows.reduce(0) { $0 + $1.lag })
        }
    }

    var text: String {
        let lag = rows.reduce(0) { $0 + $1.lag }
        let sum =
            lag == 0 ? "all groups have read everything" : "\(lag) records wait; see --each for partitions"
        return Table(headers: Self.headers, rows: rows.map(\.cells)).text + "\n" + sum
    }
}
