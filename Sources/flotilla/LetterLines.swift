internal import Cryptography
internal import LiveActivity
internal import Replay
internal import Telemetry

/// One letter as a person may see it: without its tokens, and without what it says.
struct LetterLine {
    private static let heads = ["letter", "at", "stage", "app", "reason", "jobs", "state"]

    private let letter: Letter
    private let state: LetterJournal.State

    init(_ letter: Letter, _ state: LetterJournal.State) { (self.letter, self.state) = (letter, state) }

    static func show(_ lines: [LetterLine], more: Int, _ invocation: Invocation) {
        if invocation.options["--json"] != nil {
            for line in lines { print(line.json(whole: false)) }
            return
        }
        if lines.isEmpty { return print("there are no such letters") }
        print(Table(heads, lines.map(\.cells)).text)
        if more > 0 { print("and \(more) more; --limit shows more of them") }
    }

    private var cells: [String] {
        [
            letter.name.text, Self.time(letter.why.at), letter.why.stage, letter.app ?? "–", letter.why.code,
            String(letter.jobs), state.rawValue,
        ]
    }

    private static func time(_ milliseconds: Int64) -> String { WallTime(milliseconds: milliseconds).rfc3339 }

    /// Of a deadline, which comes as any number: in the year 2255.
    private static let secondsMax: Int64 = 9_000_000_000

    private func json(whole isWhole: Bool) -> String {
        JSONLine.text { json in
            letter.write(state, to: &json)
            if isWhole { letter.writeSheet(to: &json) }
        }
    }

    // MARK: All of it

    func showAll(_ invocation: Invocation) {
        if invocation.options["--json"] != nil {
            return print(json(whole: true))
        }
        var rows = [
            ("letter", letter.name.text), ("state", state.rawValue), ("stage", letter.why.stage),
            ("reason", letter.why.code), ("which means", letter.why.reason),
            ("app", letter.app ?? "–"), ("given up", Self.time(letter.why.at)),
            ("written", Self.time(letter.why.writtenAt)),
            ("lay in", "\(letter.why.topic)/\(letter.why.partition) at \(letter.why.offset)"),
            ("bytes", String(letter.value?.count ?? 0)),
        ]
        if !letter.before.isEmpty { rows.append(("sent again from", letter.before.joined(separator: ", "))) }
        if let sheet = letter.sheet {
            rows += [
                ("send", sheet.head.send), ("group", sheet.head.group ?? "–"),
                ("event", sheet.head.event.rawValue), ("version", String(sheet.head.version)),
                ("deadline", Self.time(min(sheet.head.deadline, Self.secondsMax) * 1_000)),
            ]
        }
        let width = rows.map(\.0.count).max() ?? 0
        for (name, value) in rows { print(name.padded(to: width) + "  " + value) }
        guard let sheet = letter.sheet else { return }
        let jobs = sheet.jobs.map { [$0.installation, $0.entry, $0.recipient, $0.token] }
        print(Table(["installation", "entry", "recipient", "token as stored"], jobs).text)
    }
}

/// Letters by what is wrong with them.
struct LetterSums {
    private static let heads = ["stage", "app", "reason", "state", "letters", "jobs", "first", "last"]

    private let summary: LetterSummary

    init(_ summary: LetterSummary) { self.summary = summary }

    func show(_ invocation: Invocation) {
        let rows = summary.sorted
        if invocation.options["--json"] != nil {
            for (kind, row) in rows { print(Self.json(kind, row)) }
        } else if rows.isEmpty {
            print("there are no such letters")
        } else {
            print(Table(Self.heads, rows.map(Self.cells)).text)
            if summary.others > 0 { print("and \(summary.others) letters of further kinds") }
        }
    }

    private static func cells(_ kind: LetterSummary.Kind, _ row: LetterSummary.Row) -> [String] {
        [
            kind.stage, kind.app ?? "–", kind.code, kind.state.rawValue, String(row.letters),
            String(row.jobs), WallTime(milliseconds: row.first).rfc3339,
            WallTime(milliseconds: row.last).rfc3339,
        ]
    }

    private static func json(_ kind: LetterSummary.Kind, _ row: LetterSummary.Row) -> String {
        JSONLine.text { LetterSummary.write(kind, row, to: &$0) }
    }
}

/// What a redrive does, or has done.
struct RedriveReport {
    private let tally: Redrive.Tally

    init(_ tally: Redrive.Tally) { self.tally = tally }

    func text(isDone: Bool) -> String {
        let counts = "\(tally.letters) letters with \(tally.jobs) jobs"
        var lines = [isDone ? "sent \(counts) again" : "\(counts) are to be sent again"]
        if tally.settled > 0 {
            lines.append("\(tally.settled) were sent by an earlier call that was interrupted")
        }
        return (lines + tally.objections.lines).joined(separator: "\n")
    }

    func json(isDone: Bool) -> String {
        var line = JSONLine()
        line.field(isDone ? "sentAgain" : "wouldSendAgain", Int64(tally.letters))
        line.field("jobs", Int64(tally.jobs))
        line.field("settled", Int64(tally.settled))
        line.add(tally.objections)
        return line.text
    }
}

extension [Objection: Int] {
    /// What stays where it is, and why.
    var lines: [String] {
        sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) stay: \($0.key.sentence)" }
    }
}

extension JSONLine {
    mutating func add(_ objections: [Objection: Int]) {
        field(
            "stay",
            objections.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.rawValue)=\($0.value)" })
    }
}
