internal import Jobs
internal import Payloads
internal import RecordFormat
internal import Replay
internal import Telemetry

/// The output of one dead letter: a row of the list, or all details with its jobs. It shows no payload, and tokens only
/// as they are stored.
struct DeadLetterOutput {
    private static let headers = ["letter", "at", "stage", "app", "reason", "jobs", "state"]

    /// The limit of a deadline that is shown, in seconds since 1970 (year 2255). A record can hold any number, and its
    /// milliseconds could overflow.
    private static let deadlineSecondsMax: Int64 = 9_000_000_000

    private let deadLetter: DeadLetterRecord
    private let state: DeadLetterJournal.DeadLetterState

    init(of deadLetter: DeadLetterRecord, state: DeadLetterJournal.DeadLetterState) {
        self.deadLetter = deadLetter
        self.state = state
    }

    /// - Parameter omittedCount: the number of dead letters beyond the limit of the list.
    static func showList(of outputs: [DeadLetterOutput], omittedCount: Int, for invocation: Invocation) {
        if invocation.isJSON {
            for output in outputs { print(output.json(isComplete: false)) }
            return
        }
        if outputs.isEmpty { return print("there are no such dead letters") }
        print(Table(headers: headers, rows: outputs.map(\.cells)).text)
        if omittedCount > 0 { print("and \(omittedCount) more; --limit shows more of them") }
    }

    private var cells: [String] {
        [
            deadLetter.id.text, Self.timeText(milliseconds: deadLetter.rejection.rejectedAt),
            deadLetter.rejection.stage,
            deadLetter.app ?? "–",
            deadLetter.rejection.code,
            String(deadLetter.jobCount), state.rawValue,
        ]
    }

    private static func timeText(milliseconds: Int64) -> String {
        WallTime(milliseconds: milliseconds).rfc3339
    }

    /// - Parameter isComplete: whether the jobs of the sheet are included.
    private func json(isComplete: Bool) -> String {
        JSONLine.text { json in
            deadLetter.write(state: state, to: &json)
            if isComplete { deadLetter.writeSheet(to: &json) }
        }
    }

    // MARK: Details

    func showDetails(for invocation: Invocation) {
        if invocation.isJSON {
            return print(json(isComplete: true))
        }
        var rows = [
            ("letter", deadLetter.id.text), ("state", state.rawValue), ("stage", deadLetter.rejection.stage),
            ("reason", deadLetter.rejection.code), ("meaning", deadLetter.rejection.reason),
            ("app", deadLetter.app ?? "–"),
            ("given up", Self.timeText(milliseconds: deadLetter.rejection.rejectedAt)),
            ("written", Self.timeText(milliseconds: deadLetter.rejection.writtenAt)),
            (
                "source",
                "\(deadLetter.rejection.topic)/\(deadLetter.rejection.partition) at \(deadLetter.rejection.offset)"
            ),
            ("bytes", String(deadLetter.value?.count ?? 0)),
        ]
        if !deadLetter.previousIDs.isEmpty {
            rows.append(("sent again from", deadLetter.previousIDs.joined(separator: ", ")))
        }
        if let sheet = deadLetter.sheet {
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
        guard let sheet = deadLetter.sheet else { return }
        let jobs = sheet.jobs.map { [$0.installation, $0.entry, $0.recipient, $0.token] }
        print(Table(headers: ["installation", "entry", "recipient", "token as stored"], rows: jobs).text)
    }
}
