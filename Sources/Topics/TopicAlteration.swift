package import Kafka

extension TopicLayout {
    /// Gives topics that are there the settings that they lack, as after an update of Flotilla that needs
    /// more of them, and returns what was mended. Partitions stay as they are, and so do settings that
    /// nobody here asks about.
    @discardableResult
    package func alter(
        _ topics: [TopicName] = TopicName.allCases, on admin: Admin
    ) throws(KafkaError) -> [TopicMismatch] {
        let mended = try check(topics, on: admin).filter { $0.setting != nil }
        var changes: [String: [String: String]] = [:]
        for mismatch in mended {
            changes[mismatch.topic, default: [:]][mismatch.property.rawValue] = mismatch.setting
        }
        if !changes.isEmpty { try admin.alter(changes, withinMilliseconds: Self.askMilliseconds) }
        return mended
    }
}
