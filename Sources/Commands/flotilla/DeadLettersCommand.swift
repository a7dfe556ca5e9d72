internal import Cryptography
internal import Identifiers
internal import Kafka
internal import Lifecycle
internal import Replay
internal import Settings
internal import Telemetry
internal import Topics

extension Command {
    /// `flotilla dead-letters`: shows the records that stages could not use, sends them again or discards
    /// them.
    static let deadLetters = Command(
        name: "dead-letters",
        summary: "Lists, shows, redrives or discards the records that a stage could not use.",
        usage: "[list | show LETTER | redrive [LETTER…] | discard [LETTER…]] [options]",
        example: "flotilla dead-letters redrive --app shop --reason attempts_exhausted --since 2h",
        settings: ["topics.", "kafka."],
        options: [
            ("--app", true, "only dead letters of this app"),
            ("--stage", true, "only those of the stage that gave up: ingest, fan-out or sender"),
            ("--reason", true, "only those with this reason code, as list shows it"),
            ("--since", true, "only those of this last period (2h), or since a date (2026-11-20T20:00:00Z)"),
            ("--until", true, "only those before this time, in the same form"),
            ("--every", false, "redrive, discard: selects all dead letters if no other option selects some"),
            ("--each", false, "list: prints each dead letter with its name instead of sums"),
            ("--limit", true, "list --each: prints at most this many; the default is 100"),
            ("--settled", false, "list: also those that were sent again or discarded"),
            ("--dry-run", false, "redrive, discard: prints the plan, changes nothing and does not ask"),
            ("--yes", false, "redrive, discard: does not ask for confirmation"),
            ("--json", false, "prints one JSON object per line instead of a table"),
        ]
    ) { invocation in
        let words = Array(invocation.positionals.dropFirst())
        let filter = try invocation.deadLetterFilter(ids: words)
        switch invocation.positionals.first ?? "list" {
        case "list" where words.isEmpty: try list(matching: filter, for: invocation)
        case "show" where words.count == 1: try show(matching: filter, for: invocation)
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
        let isSettledShown = invocation.options["--settled"] != nil
        func isShown(_ state: DeadLetterJournal.DeadLetterState) -> Bool {
            isSettledShown || state == .open || state == .doubtful
        }
        if invocation.options["--each"] != nil {
            var lines: [DeadLetterOutput] = []
            var omittedCount = 0
            try deadLetters.forEach(matching: filter) { letter, state in
                guard isShown(state) else { return }
                if lines.count < limit {
                    lines.append(DeadLetterOutput(of: letter, state: state))
                } else {
                    omittedCount += 1
                }
            }
            return DeadLetterOutput.showList(of: lines, omittedCount: omittedCount, for: invocation)
        }
        var summary = DeadLetterSummary()
        try deadLetters.forEach(matching: filter) { letter, state in
            if isShown(state) { summary.add(letter, state: state) }
        }
        DeadLetterSummaryOutput(summary).show(for: invocation)
    }

    private static func show(matching filter: DeadLetterFilter, for invocation: Invocation) throws {
        var found: DeadLetterOutput?
        try invocation.deadLetterTopic().forEach(matching: filter) { letter, state in
            found = DeadLetterOutput(of: letter, state: state)
        }
        guard let found else {
            throw CommandError(
                status: .noInput,
                "there is no such dead letter; `flotilla dead-letters list --each` shows their names")
        }
        found.showDetails(for: invocation)
    }

    // MARK: Redrive and discard

    private static func redrive(matching filter: DeadLetterFilter, for invocation: Invocation) throws {
        try invocation.requireSelection(in: filter)
        let redrive = Redrive(
            deadLetters: try invocation.deadLetterTopic(), filter: filter, author: CatalogAccess.author,
            run: Invocation.newRunID())
        let planned = try redrive.preview()
        let isJSON = invocation.options["--json"] != nil
        if !isJSON { print(RedriveReport(planned).text(isDone: false)) }
        if invocation.options["--dry-run"] != nil {
            if isJSON { print(RedriveReport(planned).json(isDone: false)) }
            return
        }
        if planned.letters + planned.alreadySent > 0 {
            try invocation.confirm(orElse: "nothing was sent again")
        }
        let done = try redrive.execute { tally in
            invocation.printProgress("\(tally.letters) of \(planned.letters) dead letters sent again")
        }
        print(isJSON ? RedriveReport(done).json(isDone: true) : RedriveReport(done).text(isDone: true))
    }

    private static func discard(matching filter: DeadLetterFilter, for invocation: Invocation) throws {
        try invocation.requireSelection(in: filter)
        let discard = Discard(
            deadLetters: try invocation.deadLetterTopic(), filter: filter, author: CatalogAccess.author,
            run: Invocation.newRunID())
        let (letters, busy) = try discard.preview()
        let isJSON = invocation.options["--json"] != nil
        func printResult(count: Int, isDone: Bool) {
            if isJSON {
                var line = JSONLine()
                line.field(isDone ? "discarded" : "wouldDiscard", Int64(count))
                line.field("inDoubt", Int64(busy))
                print(line.text)
            } else {
                print(isDone ? "discarded \(count) letters" : "\(count) letters will be discarded")
                if busy > 0, !isDone { print("\(busy) stay, because a redrive of them has begun") }
            }
        }
        let isDryRun = invocation.options["--dry-run"] != nil
        if isDryRun || !isJSON { printResult(count: letters, isDone: false) }
        if isDryRun { return }
        if letters > 0 { try invocation.confirm(orElse: "nothing was discarded") }
        printResult(
            count: try discard.execute { invocation.printProgress("\($0) of \(letters) letters discarded") },
            isDone: true)
    }
}

extension Invocation {
    static func newRunID() -> String { "a" + Hex.text(of: Random.bytes(count: 6)) }

    fileprivate func deadLetterFilter(ids: [String]) throws -> DeadLetterFilter {
        var filter = DeadLetterFilter()
        if let app = options["--app"] {
            guard AppIDRules.problem(app) == nil else {
                throw CommandError(status: .usage, "--app is not an app id")
            }
            filter.app = app
        }
        filter.stage = options["--stage"]
        filter.code = options["--reason"]
        filter.since = try time(ofOption: "--since")
        filter.until = try time(ofOption: "--until")
        guard ids.count <= DeadLetterFilter.idsMax else {
            throw CommandError(status: .usage, "name at most \(DeadLetterFilter.idsMax) letters")
        }
        for text in ids {
            guard let id = DeadLetterID(text) else {
                throw CommandError(
                    status: .usage,
                    "\(text) is not the name of a dead letter; a name is partition and offset: 3/1042")
            }
            filter.ids.insert(id)
        }
        return filter
    }

    /// Returns milliseconds since 1970. The option's value is a date, or a period before now.
    func time(ofOption option: String) throws -> Int64? {
        guard let text = options[option] else { return nil }
        let now = WallTime.now().milliseconds
        if let ago = Milliseconds(settingText: text) { return max(0, now - Int64(ago.count)) }
        let seconds = unsafe Array(text.utf8).withUnsafeBufferPointer {
            unsafe UTCDate.seconds(iso8601: $0)
        }
        guard let seconds, seconds >= 0 else {
            throw CommandError(
                status: .usage,
                "\(option) must be \(Milliseconds.typeDescription), or a date such as 2026-11-20T20:00:00Z")
        }
        return seconds * 1_000
    }

    fileprivate func deadLetterLimit() throws -> Int {
        guard let text = options["--limit"] else { return 100 }
        guard let limit = Int(text), (1...10_000).contains(limit) else {
            throw CommandError(status: .usage, "--limit must be a number from 1 to 10000")
        }
        return limit
    }

    /// Refuses a call without a filter, because such a call is usually a mistake.
    fileprivate func requireSelection(in filter: DeadLetterFilter) throws {
        guard !filter.isAll || options["--every"] != nil else {
            throw CommandError(
                status: .usage,
                "select dead letters with their names, --app, --stage, --reason, --since, --until, or --every"
            )
        }
    }

    /// Returns access to the dead letters. Throws at once if the cluster, the topic or the number of lanes is
    /// wrong.
    func deadLetterTopic() throws -> DeadLetterTopic {
        let layout = TopicLayout(settings: settings)
        let kafka = settings[KafkaSettings.self]
        try layout.require([.deadLetters], on: AdminClient(settings: kafka, log: .silent, metrics: Metrics()))
        return DeadLetterTopic(settings: kafka, layout: layout)
    }
}
