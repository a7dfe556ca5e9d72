/// The reason why a handler does not do what a part of a request asks for, with a sentence for a person.
struct Refusal: Error {
    let code: ErrorCode
    let message: String
}

extension Refusal {
    /// The limit for the value of a topic's setting. It is far above any useful value, and it keeps descriptions of
    /// many topics small.
    static let settingBytesMax = 255

    /// Returns the refusal of a value that is too long, or nil.
    static func ofLongSetting(name: String, value: String?) -> Refusal? {
        guard let length = value?.utf8.count, length > settingBytesMax else { return nil }
        return Refusal(
            code: .invalidConfig,
            message: "topic setting \(name) has a value of \(length) bytes; give at most \(settingBytesMax)")
    }
}
