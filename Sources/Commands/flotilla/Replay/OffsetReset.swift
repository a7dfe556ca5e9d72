internal import Kafka
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import Topics

/// `flotilla replay offset`: sets the offset at which a stage continues in one partition, after records were lost.
struct OffsetReset {
    /// The consumer group of the stage.
    let group: String
    let partition: TopicPartition
    let committed: Int64
    let watermarks: Watermarks
    /// The offset at which the stage continues.
    let target: Int64

    private let admin: AdminClient

    init(for invocation: Invocation) throws {
        let layout = TopicLayout(settings: invocation.settings)
        guard let topic = invocation.options["--topic"].flatMap(TopicName.init) else {
            let names = TopicName.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandError(status: .usage, "name the topic with --topic: \(names)")
        }
        guard let number = invocation.options["--partition"].flatMap({ Int32($0) }), number >= 0,
            number < layout.partitionCount(of: topic)
        else {
            throw CommandError(
                status: .usage,
                "name a partition of \(topic.rawValue) with --partition: 0 to \(layout.partitionCount(of: topic) - 1)"
            )
        }
        admin = try AdminClient(
            settings: invocation.settings[KafkaSettings.self], log: .silent, metrics: Metrics())
        try layout.require([topic], on: admin)
        let partition = TopicPartition(layout.name(of: topic), number)
        self.partition = partition
        watermarks = try admin.watermarks(of: partition)
        target = try Self.parseTarget(invocation.options["--to"], in: watermarks)
        (group, committed) = try Self.findGroup(
            named: invocation.options["--group"], of: partition, prefix: layout.prefix, on: admin)
    }

    /// Returns the group that has committed an offset in the partition. Other programs may read the topic too, so
    /// the operator names the group if there are several.
    private static func findGroup(
        named name: String?, of partition: TopicPartition, prefix: String, on admin: AdminClient
    ) throws -> (name: String, committed: Int64) {
        let groups = try name.map { [$0] } ?? admin.groupNames().sorted().filter { $0.hasPrefix(prefix) }
        var found: [(name: String, committed: Int64)] = []
        for group in groups {
            if let offset = try admin.committedOffsets(by: group, in: [partition]).first?.offset {
                found.append((group, offset))
            }
        }
        guard let first = found.first else {
            throw CommandError(
                status: .usage,
                "\(name.map { "group \($0) has no offset" } ?? "no group has an offset") in \(partition); a stage begins there at the beginning"
            )
        }
        guard found.count == 1 else {
            let names = found.map(\.name).joined(separator: ", ")
            throw CommandError(
                status: .usage, "several groups read \(partition); name one with --group: \(names)")
        }
        return first
    }

    private static func parseTarget(_ text: String?, in watermarks: Watermarks) throws -> Int64 {
        switch text {
        case "beginning": return watermarks.low
        case "end": return watermarks.high
        default:
            guard let text, let offset = Int64(text), (watermarks.low...watermarks.high).contains(offset)
            else {
                throw CommandError(
                    status: .usage,
                    "say where to continue with --to: beginning (\(watermarks.low)), end (\(watermarks.high)), or an offset between"
                )
            }
            return offset
        }
    }

    /// The text for the operator before the change.
    var plan: String {
        """
        group      \(group)
        partition  \(partition), which has the offsets \(watermarks.low) to \(watermarks.high)
        committed  \(committed)
        continues  \(target)
        """
    }

    func apply() throws {
        do throws(KafkaError) {
            try admin.setOffsets(of: group, to: [partition: target])
        } catch {
            // Kafka accepts offsets from outside only for a group without members.
            guard error.code == .unknownMember else { throw error }
            let sessionSeconds = ConsumerOptions.sessionMillisecondsDefault / 1_000
            throw CommandError(
                status: .temporary,
                "group \(group) has members; stop every process of its stage, wait \(sessionSeconds) s for the end of their session, and call this again"
            )
        }
    }
}
