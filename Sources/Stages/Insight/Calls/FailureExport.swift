internal import HTTPServer
internal import Identifiers
internal import Jobs
internal import Telemetry

/// The answer with failed pushes as a file: CSV as in RFC 4180.
struct FailureExport {
    let pushes: [TimelinePush]
    /// The position behind the last push, or nil at the end of the list.
    let next: ListPosition?

    private static let columnNames = [
        "at", "sendId", "groupId", "userId", "installationId", "entry", "environment", "outcome", "status",
        "reason",
    ]

    /// The file. Its first line is the cursor of the next part, or empty at the end. The gateway removes this line.
    var response: HTTPResponse {
        var text = "\(next?.cursor ?? "")\n" + Self.columnNames.joined(separator: ",") + "\r\n"
        for push in pushes {
            let fields: [String?] = [
                WallTime(milliseconds: push.at).rfc3339, push.send, push.group, push.userName,
                push.addressee.installation, push.addressee.entry, push.environment.rawValue,
                push.outcome.rawValue, push.status.map(String.init), push.reason,
            ]
            text += fields.map { EventExport.quoted($0 ?? "") }.joined(separator: ",") + "\r\n"
        }
        return HTTPResponse(headers: ["Content-Type": "text/csv; charset=utf-8"], body: Array(text.utf8))
    }
}
