package import HTTPServer
package import JSON

/// The answers of `POST /v1/reports`. The codes are for programs and never change.
package enum ReportsAnswer {
    /// Returns the answer after all good reports were stored.
    package static func accepted(_ judged: JudgedReports) -> HTTPResponse {
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        write(judged, to: &json)
        write(judged.taps, to: &json)
        json.endObject()
        return .json(json.bytes, status: 202)
    }

    /// Returns the answer if no report is good. Nothing was stored.
    ///
    /// - Parameter waitMilliseconds: The time to wait if the reports exceed a limit.
    package static func refused(_ judged: JudgedReports, waitMilliseconds: Int = 0) -> HTTPResponse {
        if let limit = judged.refused.first?.limit, judged.refused.allSatisfy({ $0.limit != nil }) {
            return Unavailable.limited(limit, waitMilliseconds: waitMilliseconds)
        }
        let first = judged.refused.lazy.compactMap(\.problems.first).first
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        json.name("error")
        json.beginObject()
        json.name("code")
        json.value("reports_refused")
        json.name("message")
        json.value("no report is valid: \(first.map { "\($0)" } ?? "see refused")")
        if let first, !first.path.isEmpty {
            json.name("field")
            json.value(first.path)
        }
        json.endObject()
        write(judged, to: &json)
        json.endObject()
        return .json(json.bytes, status: 422)
    }

    /// Returns the answer to a body that cannot be read as a whole.
    package static func unreadable(_ error: JSONError) -> HTTPResponse {
        let problem = error.problems[0]
        let status =
            switch problem.code {
            case .wrongType, .missing, .unknownField, .outOfRange, .invalid: 422
            case .tooLarge: 413
            case .outOfMemory: 503
            default: 400
            }
        return .error(status, problem.code.rawValue, message: problem.description, field: problem.path)
    }

    private static func write(_ judged: JudgedReports, to json: inout JSONWriter) {
        json.name("accepted")
        json.value(judged.acceptedCount)
        json.name("refused")
        json.beginArray()
        for refused in judged.refused {
            json.beginObject()
            json.name("index")
            json.value(refused.index)
            json.name("problems")
            json.beginArray()
            for problem in refused.problems {
                write(code: problem.code.rawValue, field: problem.path, problem.description, to: &json)
            }
            if let limit = refused.limit {
                write(code: RateLimit.code, field: "installationId", limit.sentence, to: &json)
            }
            json.endArray()
            json.endObject()
        }
        json.endArray()
    }

    /// Writes the attribution of taps. The SDK passes it to the app that a tap launched.
    private static func write(_ taps: [(index: Int, tap: JudgedReports.Tap)], to json: inout JSONWriter) {
        if taps.isEmpty { return }
        json.name("taps")
        json.beginArray()
        for (index, tap) in taps {
            json.beginObject()
            json.field("index", index)
            json.field("activityId", tap.activity)
            json.field("scheduleId", tap.scheduleID)
            json.field("scheduleName", tap.scheduleName)
            json.endObject()
        }
        json.endArray()
    }

    private static func write(
        code: String, field: String, _ message: String, to json: inout JSONWriter
    ) {
        json.beginObject()
        json.name("code")
        json.value(code)
        json.name("field")
        json.value(field)
        json.name("message")
        json.value(message)
        json.endObject()
    }
}
