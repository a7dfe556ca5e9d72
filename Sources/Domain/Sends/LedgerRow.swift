internal import Identifiers
package import JSON
internal import RecordFormat

/// A start that an installation got: a row of the ledger in `starts`. A lane writes it when it writes the start's
/// job, or when a report shows that the app began the activity itself. The lane looks here before it starts an
/// activity, because an installation gets at most one start in a generation of a scope.
package struct LedgerRow: JSONRecord, Hashable {
    package static let schemaVersion = 1

    /// Whether the started activity has reported its token.
    package enum Report: String, Sendable, CaseIterable {
        case awaited
        case arrived
        /// The installation was started more than once in this generation, so one report is not enough.
        case ambiguous
    }

    /// The version of the newest state that the start carried.
    package var version: Int64
    /// The time of the start, in milliseconds since 1970.
    package var startedAt: Int64
    /// The Swift name of the `ActivityAttributes` type.
    package var type: String
    /// The version of the safety END, which Flotilla sends before the system ends the activity itself. 0 if it
    /// sent none.
    package var safetyEndVersion: Int64 = 0
    package var report = Report.awaited

    package init(version: Int64, startedAt: Int64, type: String) {
        self.version = version
        self.startedAt = startedAt
        self.type = type
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("version", version)
        writer.field("at", startedAt)
        writer.field("type", type)
        writer.field("endedAt", safetyEndVersion == 0 ? nil : safetyEndVersion)
        writer.field("report", report == .awaited ? nil : report.rawValue)
    }

    package init(from record: JSONObject) {
        self.init(
            version: record["version"].version(), startedAt: record["at"].timeMilliseconds(),
            type: record["type"].name())
        safetyEndVersion = record["endedAt"].optional?.version() ?? 0
        report = record["report"].optional?.choice(of: Report.self) ?? .awaited
    }
}
