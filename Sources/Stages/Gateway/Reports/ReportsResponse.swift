package import HTTPServer
package import JSON

/// The answers of `POST /v1/reports`. The codes are for programs and never change, for example:
/// `{"accepted":1,"refused":[{"index":1,"problems":[{"code":"missing","field":"kind","message":"…"}]}]}`.
package enum ReportsResponse {
    /// Returns the answer after all valid reports were stored.
    package static func accepted(_ reports: ValidatedReports) -> HTTPResponse {
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        writeCounts(of: reports, to: &json)
        writeTaps(reports.taps, to: &json)
        json.endObject()
        return .json(json.bytes, status: 202)
    }

    /// Returns the answer if no report is valid. Nothing was stored.
    package static func refused(_ reports: ValidatedReports) -> HTTPResponse {
        let limits = reports.refused.compactMap(\.limit)
        if limits.count == reports.refused.count,
            let longest = limits.max(by: { $0.waitMilliseconds < $1.waitMilliseconds })
        {
            return Unavailable.limited(by: longest)
        }
        let firstProblem = reports.refused.lazy.compactMap(\.problems.first).first
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        json.name("error")
        json.beginObject()
        json.name("code")
        json.value("reports_refused")
        json.name("message")
        json.value("no report is valid: \(firstProblem.map { "\($0)" } ?? "see refused")")
        if let firstProblem, !firstProblem.path.isEmpty {
            json.name("field")
            json.value(firstProblem.path)
        }
        json.endObject()
        writeCounts(of: reports, to: &json)
        json.endObject()
        return .json(json.bytes, status: 422)
    }

    /// Returns the answer to a body that cannot be read as a whole.
    package static func unreadableBody(error: JSONError) -> HTTPResponse {
        let problem = error.problems[0]
        return .error(
            status: error.httpStatus, code: problem.code.rawValue, message: problem.description,
            field: problem.path)
    }

    private static func writeCounts(of reports: ValidatedReports, to json: inout JSONWriter) {
        json.name("accepted")
        json.value(reports.acceptedCount)
        json.name("refused")
        json.beginArray()
        for refused in reports.refused {
            json.beginObject()
            json.name("index")
            json.value(refused.index)
            json.name("problems")
            json.beginArray()
            for problem in refused.problems {
                writeProblem(
                    code: problem.code.rawValue, field: problem.path, message: problem.description, to: &json)
            }
            if let limit = refused.limit {
                writeProblem(
                    code: RateLimit.errorCode, field: "installationId", message: limit.message, to: &json)
            }
            json.endArray()
            json.endObject()
        }
        json.endArray()
    }

    /// Writes the attribution of taps. The SDK passes it to the app that a tap launched.
    private static func writeTaps(
        _ taps: [(index: Int, tap: ValidatedReports.Tap)], to json: inout JSONWriter
    ) {
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

    private static func writeProblem(
        code: String, field: String, message: String, to json: inout JSONWriter
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
