internal import JSON

/// The result of one check of the doctor.
struct Finding {
    enum Verdict: String {
        /// The checked part works.
        case good
        /// The checked part works, but the operator should know the text.
        case doubt
        /// The checked part does not work. The text says what to do.
        case wrong
    }

    /// The part that was checked: `kafka`, `app shop`.
    let subject: String
    let verdict: Verdict
    let text: String

    /// The cells of the row in the table.
    var cells: [String] { [verdict.rawValue, subject, text] }

    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("subject", subject)
        writer.field("verdict", verdict.rawValue)
        writer.field("text", text)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
