/// The limit for the length of a topic's setting. It is far above any useful value, and it keeps
/// descriptions of many topics small.
enum SettingLength {
    static let bytesMax = 255

    /// Returns the reason why a value is too long as a sentence, or nil.
    static func refusal(name: String, value: String?) -> String? {
        guard let length = value?.utf8.count, length > bytesMax else { return nil }
        return "topic setting \(name) has a value of \(length) bytes; give at most \(bytesMax)"
    }
}
