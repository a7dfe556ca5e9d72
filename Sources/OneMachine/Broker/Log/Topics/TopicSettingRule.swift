/// One setting that a topic can have, with its default and its allowed values.
struct TopicSettingRule: Sendable {
    /// Kafka's name.
    let name: String
    let defaultValue: String
    /// The allowed values, for an error message.
    let range: String
    /// Sets the value. Returns false if the text is not in range.
    let set: @Sendable (inout TopicSettings, String) -> Bool

    static func named(_ name: String) -> TopicSettingRule? { all.first { $0.name == name } }

    /// Returns the rule of a number. If `set` does nothing, the setting has no effect on one node.
    private static func number(
        _ name: String, defaultValue: Int64, in range: ClosedRange<Int64>,
        set: @escaping @Sendable (inout TopicSettings, Int64) -> Void
    ) -> TopicSettingRule {
        TopicSettingRule(
            name: name, defaultValue: String(defaultValue),
            range: "a whole number from \(range.lowerBound) to \(range.upperBound)"
        ) { settings, text in
            guard let value = Int64(text), range.contains(value) else { return false }
            set(&settings, value)
            return true
        }
    }

    /// Returns the rule of a setting that is accepted and shown, but has no effect on one node. The first of the allowed
    /// words is its default.
    private static func word(_ name: String, allowed: [String]) -> TopicSettingRule {
        TopicSettingRule(name: name, defaultValue: allowed[0], range: allowed.joined(separator: " or ")) {
            _, text in
            allowed.contains(text)
        }
    }
}

extension TopicSettingRule {
    static let all: [TopicSettingRule] = [
        TopicSettingRule(
            name: "cleanup.policy", defaultValue: "delete", range: "delete, compact or both with a comma"
        ) {
            settings, text in
            let policies = text.split(separator: ",").map { $0.trimmed }
            guard !policies.isEmpty, policies.allSatisfy({ $0 == "delete" || $0 == "compact" }) else {
                return false
            }
            settings.isCompacted = policies.contains("compact")
            settings.isDeleted = policies.contains("delete")
            return true
        },
        word("compression.type", allowed: ["producer"]),
        number("delete.retention.ms", defaultValue: 86_400_000, in: 0...(.max)) {
            $0.deleteRetentionMilliseconds = $1
        },
        number("file.delete.delay.ms", defaultValue: 60_000, in: 0...(.max)) { _, _ in },
        number("flush.messages", defaultValue: .max, in: 1...(.max)) { _, _ in },
        number("flush.ms", defaultValue: .max, in: 0...(.max)) { _, _ in },
        number("index.interval.bytes", defaultValue: 4096, in: 0...Int64(Int32.max)) { _, _ in },
        number("max.compaction.lag.ms", defaultValue: .max, in: 1...(.max)) {
            $0.maxCompactionLagMilliseconds = $1
        },
        number("max.message.bytes", defaultValue: 1_048_588, in: 0...(256 << 20)) {
            $0.maxMessageBytes = Int($1)
        },
        word("message.format.version", allowed: ["3.0-IV1"]),
        number("message.timestamp.difference.max.ms", defaultValue: .max, in: 0...(.max)) { _, _ in },
        TopicSettingRule(
            name: "message.timestamp.type", defaultValue: "CreateTime", range: "CreateTime or LogAppendTime"
        ) {
            settings, text in
            guard text == "CreateTime" || text == "LogAppendTime" else { return false }
            settings.usesAppendTime = text == "LogAppendTime"
            return true
        },
        TopicSettingRule(
            name: "min.cleanable.dirty.ratio", defaultValue: "0.5", range: "a number from 0 to 1"
        ) {
            settings, text in
            guard let value = Double(text), (0...1).contains(value) else { return false }
            settings.minCleanableDirtyRatio = value
            return true
        },
        number("min.compaction.lag.ms", defaultValue: 0, in: 0...(.max)) {
            $0.minCompactionLagMilliseconds = $1
        },
        word("min.insync.replicas", allowed: ["1"]),
        word("preallocate", allowed: ["false"]),
        number("retention.bytes", defaultValue: -1, in: -1...(.max)) { $0.retentionBytes = $1 },
        number("retention.ms", defaultValue: 604_800_000, in: -1...(.max)) { $0.retentionMilliseconds = $1 },
        number("segment.bytes", defaultValue: 1 << 30, in: 14...Int64(Int32.max)) {
            $0.segmentBytes = Int($1)
        },
        number("segment.index.bytes", defaultValue: 10 << 20, in: 4...Int64(Int32.max)) { _, _ in },
        number("segment.jitter.ms", defaultValue: 0, in: 0...(.max)) { _, _ in },
        number("segment.ms", defaultValue: 604_800_000, in: 1...(.max)) { $0.segmentMilliseconds = $1 },
        word("unclean.leader.election.enable", allowed: ["false"]),
    ]
}

extension Substring {
    /// The text without spaces at its ends.
    fileprivate var trimmed: String {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
