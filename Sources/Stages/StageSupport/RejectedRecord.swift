package import RecordFormat

/// The reason why a record goes to the dead letters: a code for programs and metrics, and a text for operators.
///
/// Three places decide that a record becomes a dead letter: the stage's decider, for content that it cannot use;
/// `LoneRecordFailures`, for a record whose transaction fails again and again; and the sender's `RetryRule`, for a push
/// that a person should see.
package struct RejectedRecord: Error {
    package let code: String
    package let reason: String

    package init(code: String, reason: String) {
        self.code = code
        self.reason = reason
    }

    package init(_ error: RecordDecodingError) { self.init(code: error.code, reason: error.description) }

    package static let missingTimestamp = RejectedRecord(
        code: "no_time", reason: "the record has no timestamp; Kafka gives one to every record")

    /// - Parameter content: the expected content, such as `a send`.
    package static func emptyValue(expected content: String) -> RejectedRecord {
        RejectedRecord(code: "empty", reason: "the record has no value; \(content) must be a JSON object")
    }
}
