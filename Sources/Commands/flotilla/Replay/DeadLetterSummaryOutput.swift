internal import Replay
internal import Telemetry

/// The output of the sums of dead letters by stage, app, reason and state.
struct DeadLetterSummaryOutput {
    private static let headers = ["stage", "app", "reason", "state", "letters", "jobs", "first", "last"]

    private let summary: DeadLetterSummary

    init(_ summary: DeadLetterSummary) { self.summary = summary }

    func show(for invocation: Invocation) {
        let rows = summary.sorted
        if invocation.isJSON {
            for (kind, row) in rows { print(Self.json(of: kind, row: row)) }
        } else if rows.isEmpty {
            print("there are no such dead letters")
        } else {
            print(Table(headers: Self.headers, rows: rows.map(Self.cells)).text)
            if summary.omittedDeadLetters > 0 {
                print("and \(summary.omittedDeadLetters) dead letters of other kinds")
            }
        }
    }

    private static func cells(of kind: DeadLetterSummary.Key, row: DeadLetterSummary.Row) -> [String] {
        [
            kind.stage, kind.app ?? "–", kind.code, kind.state.rawValue, String(row.letters),
            String(row.jobs), WallTime(milliseconds: row.first).rfc3339,
            WallTime(milliseconds: row.last).rfc3339,
        ]
    }

    private static func json(of kind: DeadLetterSummary.Key, row: DeadLetterSummary.Row) -> String {
        JSONLine.text { DeadLetterSummary.write(kind, row: row, to: &$0) }
    }
}
