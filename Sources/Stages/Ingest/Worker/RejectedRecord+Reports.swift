internal import StageSupport

/// The reasons for which a record of `reports` becomes a dead letter, beside those of `RejectedReport`.
extension RejectedRecord {
    init(_ report: RejectedReport) { self.init(code: report.code.rawValue, reason: report.description) }

    static func unknownApp(_ app: String) -> RejectedRecord {
        RejectedRecord(
            code: "unknown_app",
            reason: "the catalog has no app \(app); add it with flotilla apps, then redrive the record"
        )
    }

    static func tooLarge(byteCount: Int, max: Int) -> RejectedRecord {
        RejectedRecord(
            code: "too_large", reason: "the report has \(byteCount) bytes, and the limit is \(max)")
    }

    static func keyTooLong(byteCount: Int, max: Int) -> RejectedRecord {
        RejectedRecord(
            code: "key_too_long",
            reason: "app and installation make a key of \(byteCount) bytes, and the limit is \(max)")
    }
}
