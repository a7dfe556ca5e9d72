internal import JSON

/// The result of one check of the doctor.
struct Finding {
    enum Verdict: String {
        /// The checked part works.
        case good
        /// The checked part works, but the operator should know what the text says.
        case doubt
        /// The checked part does not work. The text says what to do.
        case wrong
    }

    /// The part that was checked: `kafka`, `app shop`.
    let subject: String
    let verdict: Verdict
    /// The state in words, with the remedy if something is wrong.
    let text: String

    static func good(subject: String, text: String) -> Finding {
        Finding(subject: subject, verdict: .good, text: text)
    }

    static func doubt(subject: String, text: String) -> Finding {
        Finding(subject: subject, verdict: .doubt, text: text)
    }

    static func wrong(subject: String, text: String) -> Finding {
        Finding(subject: subject, verdict: .wrong, text: text)
    }

    /// The cells of the row in the table.
    var cells: [String] { [verdict.rawValue, subject, text] }

    var json: String {
        JSONLine.text { json in
            json.field("subject", subject)
            json.field("verdict", verdict.rawValue)
            json.field("text", text)
        }
    }
}
