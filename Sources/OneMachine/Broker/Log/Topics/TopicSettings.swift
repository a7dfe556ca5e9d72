/// The settings of one topic, as clients set and see them. Unknown names and values out of range are
/// refused. A setting that is not set has Kafka's default.
package struct TopicSettings: Equatable, Sendable {
    /// The values that clients set, by name.
    package private(set) var overrides: [String: String] = [:]

    // The values in force, with Kafka's defaults.

    /// Whether compaction keeps the newest record of each key.
    package internal(set) var isCompacted = false
    /// Whether old segments are deleted.
    package internal(set) var isDeleted = true
    /// -1 means for ever.
    package internal(set) var retentionMilliseconds: Int64 = 7 * 24 * 3_600_000
    /// -1 means no limit.
    package internal(set) var retentionBytes: Int64 = -1
    package internal(set) var segmentBytes = 1 << 30
    package internal(set) var segmentMilliseconds: Int64 = 7 * 24 * 3_600_000
    /// The share of bytes that no compaction has read, from which on another one begins.
    package internal(set) var minCleanableDirtyRatio = 0.5
    /// The grace time of tombstones and markers.
    package internal(set) var deleteRetentionMilliseconds: Int64 = 24 * 3_600_000
    package internal(set) var minCompactionLagMilliseconds: Int64 = 0
    package internal(set) var maxCompactionLagMilliseconds: Int64 = .max
    package internal(set) var maxMessageBytes = 1_048_588
    /// Whether the broker gives records their timestamps.
    package internal(set) var usesAppendTime = false

    package init() {}

    package init(overrides: [String: String]) throws(TopicSettingError) {
        for (name, value) in overrides.sorted(by: { $0.key < $1.key }) { try set(name, to: value) }
    }

    /// Sets one setting, or resets it with nil.
    package mutating func set(_ name: String, to value: String?) throws(TopicSettingError) {
        guard let rule = TopicSettingRule.named(name) else {
            throw .init(name: name, reason: "is not known here")
        }
        let text = value ?? rule.defaultValue
        guard rule.set(&self, text) else {
            throw .init(name: name, reason: "cannot be \(text); give \(rule.range)")
        }
        overrides[name] = value
    }

    /// Returns the default of a setting, or nil if there is no setting of this name.
    static func defaultValue(of name: String) -> String? { TopicSettingRule.named(name)?.defaultValue }

    /// Every setting with its value, for a description of the topic.
    package var descriptions: [(name: String, value: String, isDefault: Bool)] {
        TopicSettingRule.all.map {
            ($0.name, overrides[$0.name] ?? $0.defaultValue, overrides[$0.name] == nil)
        }
    }
}

/// A refused setting.
package struct TopicSettingError: Error, Equatable, CustomStringConvertible {
    package var name: String
    package var reason: String

    package var description: String { "topic setting \(name) \(reason)" }
}
