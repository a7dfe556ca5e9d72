package import LiveActivity

/// The reason why a record goes to the dead letters.
package struct Misfit: Error {
    package let code: String
    package let reason: String

    package init(_ code: String, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    package init(_ error: RecordError) { self.init(error.code, error.description) }

    package static let timeless = Misfit(
        "no_time", "the record has no timestamp; Kafka gives one to every record")

    /// - Parameter what: the expected content, such as `a send`.
    package static func empty(_ what: String) -> Misfit {
        Misfit("empty", "the record has no value; \(what) must be a JSON object")
    }
}
