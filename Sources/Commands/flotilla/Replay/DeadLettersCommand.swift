internal import JSON
internal import Lifecycle
internal import Replay

extension Command {
    /// `flotilla dead-letters`: shows the records that stages could not use, sends them again (redrives
    /// them), or discards them.
    static let deadLetters = Command(
        name: "dead-letters",
        summary: "Lists, shows, redrives or discards the records that a stage could not use.",
        usage: "[list | show LETTER | redrive [LETTER…] | discard [LETTER…]] [options]",
        example: "flotilla dead-letters redrive --app shop --reason attempts_exhausted --since 2h",
        settings: ["topics.", "kafka."],
        options: [
            .value("--app", "only dead letters of this app"),
            .value("--stage", "only those of the stage that gave up: ingest, fan-out or sender"),
            .value("--reason", "only those with this reason code, as list shows it"),
            .value("--since", "only those of this last period (2h), or since a date (2026-11-20T20:00:00Z)"),
            .value("--until", "only those before this time, in the same form"),
            .flag("--every", "redrive, discard: selects all dead letters if no other option selects some"),
            .flag("--each", "list: prints each dead letter with its name instead of sums"),
            .value("--limit", "list --each: prints at most this many; the default is 100"),
            .flag("--settled", "list: also those that were sent again or discarded"),
            .flag("--dry-run", "redrive, discard: prints the plan, changes nothing and does not ask"),
            .flag("--yes", "redrive, discard: does not ask for confirmation"),
            .flag("--json", "prints one JSON object per line instead of a table"),
        ]
    ) { invocation in
        let ids = Array(invocation.positionals.dropFirst())
        let filter = try invocation.deadLetterFilter(ids: ids)
        switch invocation.positionals.first ?? "list" {
        case "list" where ids.isEmpty: try list(matching: filter, for: invocation)
        case "show" where ids.count == 1: try show(matching: filter, for: invocation)
        case "redrive": try redrive(matching: filter, for: invocation)
        case "discard": try discard(matching: filter, for: invocation)
        default:
            throw CommandError(status: .usage, "use list, show with one dead letter, redrive, or discard")
        }
    }

    // MARK: List and show

    private static func list(matching filter: DeadLetterFilter, for invocation: Invocation) throws {
        let limit = try invocation.deadLetterLimit()
        let deadLetters = try invocation.deadLetterTopic()
        let showsSettled = invocation.hasOption("--settled")
        func isShown(_ state: DeadLetterJournal.DeadLetterState) -> Bool {
            showsSettled || state == .open || state == .doubtful
        }
        if invocation.hasOption("--each") {
            var outputs: [DeadLetterOutput] = []
            var omittedCount = 0
            try deadLetters.forEach(matching: filter) { deadLetter, state in
                guard isShown(state) else { return }
                if outputs.count < limit {
                    outputs.append(DeadLetterOutput(of: deadLetter, state: state))
                } else {
                    omittedCount += 1
                }
            }
            return DeadLetterOutput.showList(of: outputs, omittedCount: omittedCount, for: invocation)
        }
        var summary = DeadLetterSummary()
        try deadLetters.forEach(matching: filter) { deadLetter, state in
            if isShown(state) { summary.add(deadLetter, state: state) }
        }
        DeadLetterSummaryOutput(summary).show(for: invocation)
    }

    private static func show(matching filter: DeadLetterFilter, for invocation: Invocation) throws {
        var output: DeadLetterOutput?
        try invocation.deadLetterTopic().forEach(matching: filter) { deadLetter, state in
            output = DeadLetterOutput(of: deadLetter, state: state)
        }
        guard let output else {
            throw CommandError(
                status: .noInput,
                "there is no such dead letter; `flotilla dead-letters list --each` shows their names")
        }
        output.showDetails(for: invocation)
    }

    // MARK: Redrive and discard

    private static func redrive(matching filter: DeadLetterFilter, for invocation: Invocation) throws {
        try invocation.requireSelection(in: filter)
        let redrive = Redrive(
            deadLetters: try invocation.deadLetterTopic(), filter: filter, author: CatalogAccess.author,
            run: Invocation.newRunID())
        let plannedTally = try redrive.preview()
        let isJSON = invocation.isJSON
        if !isJSON { print(RedriveReport(plannedTally).text(isDone: false)) }
        if invocation.isDryRun {
            if isJSON { print(RedriveReport(plannedTally).json(isDone: false)) }
            return
        }
        if plannedTally.letters + plannedTally.alreadySent > 0 {
            try invocation.confirm(orElse: "nothing was sent again")
        }
        let doneTally = try redrive.execute { tally in
            invocation.printProgress("\(tally.letters) of \(plannedTally.letters) dead letters sent again")
        }
        print(
            isJSON ? RedriveReport(doneTally).json(isDone: true) : RedriveReport(doneTally).text(isDone: true)
        )
    }

    private static func discard(matching filter: DeadLetterFilter, for invocation: Invocation) throws {
        try invocation.requireSelection(in: filter)
        let discard = Discard(
            deadLetters: try invocation.deadLetterTopic(), filter: filter, author: CatalogAccess.author,
            run: Invocation.newRunID())
        // Dead letters that another call is redriving are busy, and stay.
        let (discardableCount, busyCount) = try discard.preview()
        let isJSON = invocation.isJSON
        func printResult(count: Int, isDone: Bool) {
            if isJSON {
                let line = JSONLine.text { json in
                    json.field(isDone ? "discarded" : "wouldDiscard", count)
                    json.field("inDoubt", busyCount)
                }
                print(line)
            } else {
                print(isDone ? "discarded \(count) letters" : "\(count) letters will be discarded")
                if busyCount > 0, !isDone { print("\(busyCount) stay, because a redrive of them has begun") }
            }
        }
        let isDryRun = invocation.isDryRun
        if isDryRun || !isJSON { printResult(count: discardableCount, isDone: false) }
        if isDryRun { return }
        if discardableCount > 0 { try invocation.confirm(orElse: "nothing was discarded") }
        printResult(
            count: try discard.execute {
                invocation.printProgress("\($0) of \(discardableCount) letters discarded")
            }, isDone: true)
    }
}
