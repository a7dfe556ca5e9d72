/// How long the value of a topic's setting may be: far above any that means something, and far
/// below what would make descriptions of many topics large.
enum SettingLength {
    static let bytesMax = 255

    /// Nil when the value may be set; else why not, in a sentence.
    static func refusal(_ name: String, _ value: String?) -> String? {
        guard let length = value?.utf8.count, length > bytesMax else { return nil }
        return "topic setting \(name) has a value of \(length) bytes; give at most \(bytesMax)"
    }
}
