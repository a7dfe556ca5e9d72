internal import LiveActivity
internal import StageSupport

/// The reasons for which a record of `reports` becomes a dead letter.
extension Misfit {
    init(_ misfit: ReportMisfit) { self.init(misfit.code.rawValue, misfit.description) }

    static func unknownApp(_ app: String) -> Misfit {
        Misfit(
            "unknown_app",
            "the catalog has no app \(app); add it with flotilla apps, then redrive the record"
        )
    }

    static func tooLarge(_ bytes: Int, max: Int) -> Misfit {
        Misfit("too_large", "the report has \(bytes) bytes, and the limit is \(max)")
    }

    static func keyTooLong(_ bytes: Int, max: Int) -> Misfit {
        Misfit(
            "key_too_long", "app and installation make a key of \(bytes) bytes, and the limit is \(max)")
    }
}
