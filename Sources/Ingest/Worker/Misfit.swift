internal import LiveActivity
internal import Stages

/// Why a record of `reports` goes to the dead letters.
extension Misfit {
    init(_ misfit: ReportMisfit) { self.init(misfit.code.rawValue, misfit.description) }

    static func unknownApp(_ app: String) -> Misfit {
        Misfit(
            "unknown_app",
            "the catalogue has no app \(app); add it with flotilla apps, then redrive the record"
        )
    }

    static func tooLarge(_ bytes: Int, max: Int) -> Misfit {
        Misfit("too_large", "the report has \(bytes) bytes, at most \(max) are possible")
    }

    static func keyTooLong(_ bytes: Int, max: Int) -> Misfit {
        Misfit(
            "key_too_long", "app and installation make a key of \(bytes) bytes, at most \(max) are possible")
    }
}
