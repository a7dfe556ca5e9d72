internal import HTTPServer
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Telemetry

/// The answer with events as a file: CSV as in RFC 4180, or one JSON object on each line.
struct EventExport {
    let events: [Event]
    /// The position behind the last event, or nil at the end of the list.
    let next: ListPosition?

    private static let columnNames = [
        "at", "receivedAt", "code", "installationId", "userId", "attributesType", "activityId", "groupId",
        "token", "cause", "environment", "sendId", "scheduleId", "scheduleName",
    ]

    /// Returns the file. Its first line is the cursor of the next part, or empty at the end. The gateway
    /// removes this line.
    func response(isCSV: Bool) -> HTTPResponse {
        let body = isCSV ? csv : jsonLines
        return HTTPResponse(
            headers: ["Content-Type": isCSV ? "text/csv; charset=utf-8" : "application/x-ndjson"],
            body: Array("\(next?.cursor ?? "")\n".utf8) + body)
    }

    private var jsonLines: [UInt8] {
        var bytes: [UInt8] = []
        var writer = JSONWriter(capacity: 512)
        for event in events {
            writer.removeAll()
            writer.beginObject()
            event.writeReport(to: &writer)
            writer.endObject()
            bytes += writer.bytes
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    private var csv: [UInt8] {
        var text = Self.columnNames.joined(separator: ",") + "\r\n"
        for event in events {
            let fields: [String?] = [
                WallTime(milliseconds: event.eventTime).rfc3339,
                WallTime(milliseconds: event.receivedAt).rfc3339,
                event.code.rawValue, event.installation, event.user, event.attributesType, event.activity,
                event.group, event.tokenHash.map(PushToken.shortForm), event.cause?.rawValue,
                event.environment?.rawValue, event.sendID, event.scheduleID, event.scheduleName,
            ]
            text += fields.map { Self.quoted($0 ?? "") }.joined(separator: ",") + "\r\n"
        }
        return Array(text.utf8)
    }

    /// Quotes a field. A text that a spreadsheet would execute as a formula gets an apostrophe in front.
    static func quoted(_ text: String) -> String {
        let isFormula = text.utf8.first.map { "=+-@\t\r".utf8.contains($0) } ?? false
        let safe = isFormula ? "'" + text : text
        guard safe.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return safe }
        return "\"" + safe.replacing("\"", with: "\"\"") + "\""
    }
}
