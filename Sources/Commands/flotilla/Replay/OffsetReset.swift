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
    let committed: Int64?
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
        // The first group of the installation, by name, that has committed an offset in the partition.
        for group in try admin.groupNames().sorted() where group.hasPrefix(layout.prefix) {
            if let offset = try admin.committedOffsets(by: group, in: [partition]).first?.offset {
                self.group = group
                committed = offset
                return
            }
        }
        throw CommandError(
            status: .usage, "no group has an offset in \(partition); a stage begins there at the beginning")
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
        committed  \(committed.map(String.init) ?? "–")
        continues  \(target)
        """
    }

    func apply() throws {
        do throws(KafkaError) {
            try admin.setOffsets(of: group, to: [partition: target])
        } catch {
            // Kafka accepts offsets from outside only for a group without members.
            guard error.code == .unknownMember else { throw error }
            throw CommandError(
                status: .temporary,
                "group \(group) has members; stop every process of its stage, wait for its session time-out (10 s), and call this again"
            )
        }
    }
}
