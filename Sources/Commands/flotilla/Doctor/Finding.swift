internal import JSON

/// The result of one check of the doctor.
struct Finding {
    enum Verdict: String {
        case good
        /// It works, but the operator should know.
        case doubt
        /// It does not work. The text says what to do.
        case wrong
    }

    let subject: String
    let verdict: Verdict
    let text: String

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
