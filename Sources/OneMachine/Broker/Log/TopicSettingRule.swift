/// One setting that a topic can have.
struct TopicSettingRule: Sendable {
    let name: String
    let standard: String
    let range: String
    /// Sets the value. Returns false if the text is not in range.
    let set: @Sendable (inout TopicSettings, String) -> Bool

    static func named(_ name: String) -> TopicSettingRule? { all.first { $0.name == name } }

    private static func number(
        _ name: String, standard: Int64, in range: ClosedRange<Int64>,
        set: @escaping @Sendable (inout TopicSettings, Int64) -> Void
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

    /// Makes a rule for a setting that is accepted and shown, but has no effect on one node.
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
        number("delete.retention.ms", standard: 86_400_000, in: 0...(.max)) {
            $0.deleteRetentionMilliseconds = $1
        },
        number("file.delete.delay.ms", standard: 60_000, in: 0...(.max)) { _, _ in },
        number("flush.messages", standard: .max, in: 1...(.max)) { _, _ in },
        number("flush.ms", standard: .max, in: 0...(.max)) { _, _ in },
        number("index.interval.bytes", standard: 4096, in: 0...Int64(Int32.max)) { _, _ in },
        number("max.compaction.lag.ms", standard: .max, in: 1...(.max)) {
            $0.maxCompactionLagMilliseconds = $1
        },
        number("max.message.bytes", standard: 1_048_588, in: 0...(256 << 20)) {
            $0.maxMessageBytes = Int($1)
        },
        word("message.format.version", ["3.0-IV1"]),
        number("message.timestamp.difference.max.ms", standard: .max, in: 0...(.max)) { _, _ in },
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
        number("min.compaction.lag.ms", standard: 0, in: 0...(.max)) { $0.minCompactionLagMilliseconds = $1 },
        word("min.insync.replicas", ["1"]),
        word("preallocate", ["false"]),
        number("retention.bytes", standard: -1, in: -1...(.max)) { $0.retentionBytes = $1 },
        number("retention.ms", standard: 604_800_000, in: -1...(.max)) { $0.retentionMilliseconds = $1 },
        number("segment.bytes", standard: 1 << 30, in: 14...Int64(Int32.max)) { $0.segmentBytes = Int($1) },
        number("segment.index.bytes", standard: 10 << 20, in: 4...Int64(Int32.max)) { _, _ in },
        number("segment.jitter.ms", standard: 0, in: 0...(.max)) { _, _ in },
        number("segment.ms", standard: 604_800_000, in: 1...(.max)) { $0.segmentMilliseconds = $1 },
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
