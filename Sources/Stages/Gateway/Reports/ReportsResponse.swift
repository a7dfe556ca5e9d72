package import HTTPServer
package import JSON

/// The answers of `POST /v1/reports`. The codes are for programs and never change, for example:
/// `{"accepted":1,"refused":[{"index":1,"problems":[{"code":"missing","field":"kind","message":"…"}]}]}`.
package enum ReportsResponse {
    /// Returns the answer after all valid reports were stored.
    package static func accepted(_ reports: ValidatedReports) -> HTTPResponse {
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        writeVerdicts(of: reports, to: &json)
        writeTaps(reports.taps, to: &json)
        json.endObject()
        return .json(json.bytes, status: 202)
    }

    /// Returns the answer if every report was refused. Nothing was stored.
    package static func refused(_ reports: ValidatedReports) -> HTTPResponse {
        let exceededLimits = reports.refused.compactMap(\.limit)
        let areAllBeyondLimits = exceededLimits.count == reports.refused.count
        let longestWait = exceededLimits.max { $0.waitMilliseconds < $1.waitMilliseconds }
        if areAllBeyondLimits, let longestWait { return Unavailable.limited(by: longestWait) }
        let firstProblem = reports.refused.lazy.compactMap(\.problems.first).first
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        json.name("error")
        json.beginObject()
        json.field("code", "reports_refused")
        json.field("message", "no report is valid: \(firstProblem.map { "\($0)" } ?? "see refused")")
        if let firstProblem, !firstProblem.path.isEmpty { json.field("field", firstProblem.path) }
        json.endObject()
        // The problems of the first refused report. `refused` has those of each report.
        json.name("problems")
        json.beginArray()
        for problem in reports.refused.first?.problems ?? [] { RequestProblem(problem).write(to: &json) }
        json.endArray()
        writeVerdicts(of: reports, to: &json)
        json.endObject()
        return .json(json.bytes, status: 422)
    }

    /// Returns the answer to a body that cannot be read as a whole.
    package static func unreadableBody(error: JSONError) -> HTTPResponse {
        RefusedRequest(error).response
    }

    /// Writes the number of accepted reports, and the problems of each refused report.
    private static func writeVerdicts(of reports: ValidatedReports, to json: inout JSONWriter) {
        json.field("accepted", reports.acceptedCount)
        json.name("refused")
        json.beginArray()
        for refused in reports.refused {
            json.beginObject()
            json.field("index", refused.index)
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

    /// Writes the activity, the send and the schedule of each accepted tap. The SDK passes them to the app that a tap launched.
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
            json.field("sendId", tap.sendID)
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
        json.field("code", code)
        json.field("field", field)
        json.field("message", message)
        json.endObject()
    }
}
