internal import Cryptography
internal import Jobs
internal import Payloads
internal import RecordFormat
internal import Replay
internal import Telemetry

/// One dead letter for a person: without its tokens and without its payload.
struct DeadLetterOutput {
    private static let headers = ["letter", "at", "stage", "app", "reason", "jobs", "state"]

    private let letter: DeadLetterRecord
    private let state: DeadLetterJournal.DeadLetterState

    init(of letter: DeadLetterRecord, state: DeadLetterJournal.DeadLetterState) {
        (self.letter, self.state) = (letter, state)
    }

    static func showList(of lines: [DeadLetterOutput], omittedCount: Int, for invocation: Invocation) {
        if invocation.options["--json"] != nil {
            for line in lines { print(line.json(isComplete: false)) }
            return
        }
        if lines.isEmpty { return print("there are no such dead letters") }
        print(Table(headers: headers, rows: lines.map(\.cells)).text)
        if omittedCount > 0 { print("and \(omittedCount) more; --limit shows more of them") }
    }

    private var cells: [String] {
        [
            letter.id.text, Self.timeText(milliseconds: letter.rejection.rejectedAt), letter.rejection.stage,
            letter.app ?? "–",
            letter.rejection.code,
            String(letter.jobCount), state.rawValue,
        ]
    }

    private static func timeText(milliseconds: Int64) -> String {
        WallTime(milliseconds: milliseconds).rfc3339
    }

    /// Upper bound of a deadline in seconds since 1970 (year 2255). A record can hold any number.
    private static let deadlineSecondsMax: Int64 = 9_000_000_000

    private func json(isComplete isWhole: Bool) -> String {
        JSONLine.text { json in
            letter.write(state: state, to: &json)
            if isWhole { letter.writeSheet(to: &json) }
        }
    }

    // MARK: Complete output

    func showDetails(for invocation: Invocation) {
        if invocation.options["--json"] != nil {
            return print(json(isComplete: true))
        }
        var rows = [
            ("letter", letter.id.text), ("state", state.rawValue), ("stage", letter.rejection.stage),
            ("reason", letter.rejection.code), ("which means", letter.rejection.reason),
            ("app", letter.app ?? "–"),
            ("given up", Self.timeText(milliseconds: letter.rejection.rejectedAt)),
            ("written", Self.timeText(milliseconds: letter.rejection.writtenAt)),
            (
                "lay in",
                "\(letter.rejection.topic)/\(letter.rejection.partition) at \(letter.rejection.offset)"
            ),
            ("bytes", String(letter.value?.count ?? 0)),
        ]
        if !letter.previousIDs.isEmpty {
            rows.append(("sent again from", letter.previousIDs.joined(separator: ", ")))
        }
        if let sheet = letter.sheet {
            rows += [
                ("send", sheet.head.send), ("group", sheet.head.group ?? "–"),
                ("event", sheet.head.event.rawValue), ("version", String(sheet.head.version)),
                (
                    "deadline",
                    Self.timeText(milliseconds: min(sheet.head.deadline, Self.deadlineSecondsMax) * 1_000)
                ),
            ]
        }
        let width = rows.map(\.0.count).max() ?? 0
        for (name, value) in rows { print(name.padded(to: width) + "  " + value) }
        guard let sheet = letter.sheet else { return }
        let jobs = sheet.jobs.map { [$0.installation, $0.entry, $0.recipient, $0.token] }
        print(Table(headers: ["installation", "entry", "recipient", "token as stored"], rows: jobs).text)
    }
}

/// Sums of dead letters by stage, app, reason and state.
struct DeadLetterSummaryOutput {
    private static let headers = ["stage", "app", "reason", "state", "letters", "jobs", "first", "last"]

    private let summary: DeadLetterSummary

    init(_ summary: DeadLetterSummary) { self.summary = summary }

    func show(for invocation: Invocation) {
        let rows = summary.sorted
        if invocation.options["--json"] != nil {
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

/// The result of a redrive, planned or done.
struct RedriveReport {
    private let tally: Redrive.Tally

    init(_ tally: Redrive.Tally) { self.tally = tally }

    func text(isDone: Bool) -> String {
        let counts = "\(tally.letters) letters with \(tally.jobs) jobs"
        var lines = [isDone ? "sent \(counts) again" : "\(counts) will be sent again"]
        if tally.alreadySent > 0 {
            lines.append("\(tally.alreadySent) were already sent by an earlier call that was interrupted")
        }
        return (lines + tally.skipped.sentences).joined(separator: "\n")
    }

    func json(isDone: Bool) -> String {
        var line = JSONLine()
        line.field(isDone ? "sentAgain" : "wouldSendAgain", Int64(tally.letters))
        line.field("jobs", Int64(tally.jobs))
        line.field("settled", Int64(tally.alreadySent))
        line.addSkippedCounts(tally.skipped)
        return line.text
    }
}

extension [ReplaySkipReason: Int] {
    /// Sentences about the dead letters that stay, with the reasons.
    var sentences: [String] {
        sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) stay: \($0.key.explanation)" }
    }
}

extension JSONLine {
    mutating func addSkippedCounts(_ objections: [ReplaySkipReason: Int]) {
        field(
            "stay",
            objections.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.rawValue)=\($0.value)" })
    }
}
