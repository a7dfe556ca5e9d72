/// One row of the table of settings.
struct TopicSettingRule: Sendable {
    let name: String
    let standard: String
    let range: String
    /// False if the text is not a value in range.
    let set: @Sendable (inout TopicSettings, String) -> Bool

    static func named(_ name: String) -> TopicSettingRule? { all.first { $0.name == name } }

    private static func number(
        _ name: String, _ standard: Int64, _ range: ClosedRange<Int64>,
        _ set: @escaping @Sendable (inout TopicSettings, Int64) -> Void
    ) -> TopicSettingRule {
        TopicSettingRule(
            name: name, standard: String(standard),
            range: "a whole number from \(range.lowerBound) to \(range.upperBound)"
        ) { settings, text in
            guard let value = Int64(text), range.contains(value) else { return false }
            set(&settings, value)
            return true
        }
    }

    /// Accepted and shown, without effect on one node that stores batches as they come.
    private static func word(_ name: String, _ allowed: [String]) -> TopicSettingRule {
        TopicSettingRule(name: name, standard: allowed[0], range: allowed.joined(separator: " or ")) {
            _, text in
            allowed.contains(text)
        }
    }
}

extension TopicSettingRule {
    static let all: [TopicSettingRule] = [
        TopicSettingRule(
            name: "cleanup.policy", standard: "delete", range: "delete, compact or both with a comma"
        ) {
            settings, text in
            let parts = text.split(separator: ",").map { $0.trimmed }
            guard !parts.isEmpty, parts.allSatisfy({ $0 == "delete" || $0 == "compact" }) else {
                return false
            }
            settings.isCompacted = parts.contains("compact")
            settings.isDeleted = parts.contains("delete")
            return true
        },
        word("compression.type", ["producer"]),
        number("delete.retention.ms", 86_400_000, 0...(.max)) { $0.deleteRetentionMilliseconds = $1 },
        number("file.delete.delay.ms", 60_000, 0...(.max)) { _, _ in },
        number("flush.messages", .max, 1...(.max)) { _, _ in },
        number("flush.ms", .max, 0...(.max)) { _, _ in },
        number("index.interval.bytes", 4096, 0...Int64(Int32.max)) { _, _ in },
        number("max.compaction.lag.ms", .max, 1...(.max)) { $0.maxCompactionLagMilliseconds = $1 },
        number("max.message.bytes", 1_048_588, 0...(256 << 20)) { $0.maxMessageBytes = Int($1) },
        word("message.format.version", ["3.0-IV1"]),
        number("message.timestamp.difference.max.ms", .max, 0...(.max)) { _, _ in },
        TopicSettingRule(
            name: "message.timestamp.type", standard: "CreateTime", range: "CreateTime or LogAppendTime"
        ) {
            settings, text in
            guard text == "CreateTime" || text == "LogAppendTime" else { return false }
            settings.usesAppendTime = text == "LogAppendTime"
            return true
        },
        TopicSettingRule(name: "min.cleanable.dirty.ratio", standard: "0.5", range: "a number from 0 to 1") {
            settings, text in
            guard let value = Double(text), (0...1).contains(value) else { return false }
            settings.minCleanableDirtyRatio = value
            return true
        },
        number("min.compaction.lag.ms", 0, 0...(.max)) { $0.minCompactionLagMilliseconds = $1 },
        word("min.insync.replicas", ["1"]),
        word("preallocate", ["false"]),
        number("retention.bytes", -1, -1...(.max)) { $0.retentionBytes = $1 },
        number("retention.ms", 604_800_000, -1...(.max)) { $0.retentionMilliseconds = $1 },
        number("segment.bytes", 1 << 30, 14...Int64(Int32.max)) { $0.segmentBytes = Int($1) },
        number("segment.index.bytes", 10 << 20, 4...Int64(Int32.max)) { _, _ in },
        number("segment.jitter.ms", 0, 0...(.max)) { _, _ in },
        number("segment.ms", 604_800_000, 1...(.max)) { $0.segmentMilliseconds = $1 },
        word("unclean.leader.election.enable", ["false"]),
    ]
}

extension Substring {
    fileprivate var trimmed: String {
        var rest = self
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}
