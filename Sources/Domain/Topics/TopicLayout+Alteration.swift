package import Kafka

extension TopicLayout {
    /// Corrects the settings of existing topics that do not meet the requirements, for example after an update of
    /// Flotilla that needs more settings. Returns the corrected mismatches. Partitions and all other settings stay
    /// unchanged.
    @discardableResult
    package func alter(
        _ topics: [TopicName] = TopicName.allCases, on admin: AdminClient
    ) throws(KafkaError) -> [TopicMismatch] {
        // Only a mismatch of a setting has a value to set.
        let correctable = try check(topics, on: admin).filter { $0.setting != nil }
        // New values by topic and setting.
        var changes: [String: [String: String]] = [:]
        for mismatch in correctable {
            changes[mismatch.topic, default: [:]][mismatch.property.rawValue] = mismatch.setting
        }
        if !changes.isEmpty {
            try admin.alterConfigurations(changes, withinMilliseconds: Self.requestMilliseconds)
        }
        return correctable
    }
}
