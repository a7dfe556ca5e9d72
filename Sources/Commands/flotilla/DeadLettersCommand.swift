internal import Cryptography
internal import Kafka
internal import Lifecycle
internal import LiveActivity
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
        let words = Array(invocation.words.dropFirst())
        let filter = try invocation.letterFilter(names: words)
        switch invocation.words.first ?? "list" {
        case "list" where words.isEmpty: try list(filter, invocation)
        case "show" where words.count == 1: try show(filter, invocation)
        case "redrive": try redrive(filter, invocation)
        case "discard": try discard(filter, invocation)
        default:
            throw Refusal(status: .usage, "use list, show with one dead letter, redrive, or discard")
        }
    }

    // MARK: List and show

    private static func list(_ filter: DeadLetterFilter, _ invocation: Invocation) throws {
        let limit = try invocation.letterLimit()
        let box = try invocation.letterBox()
        let isSettledShown = invocation.options["--settled"] != nil
        func isShown(_ state: DeadLetterJournal.DeadLetterState) -> Bool {
            isSettledShown || state == .open || state == .doubtful
        }
        if invocation.options["--each"] != nil {
            var lines: [LetterLine] = []
            var more = 0
            try box.forEach(matching: filter) { letter, state in
                guard isShown(state) else { return }
                if lines.count < limit { lines.append(LetterLine(letter, state)) } else { more += 1 }
            }
            return LetterLine.show(lines, more: more, invocation)
        }
        var summary = DeadLetterSummary()
        try box.forEach(matching: filter) { letter, state in
            if isShown(state) { summary.add(letter, state: state) }
        }
        LetterSums(summary).show(invocation)
    }

    private static func show(_ filter: DeadLetterFilter, _ invocation: Invocation) throws {
        var found: LetterLine?
        try invocation.letterBox().forEach(matching: filter) { letter, state in
            found = LetterLine(letter, state)
        }
        guard let found else {
            throw Refusal(
                status: .noInput,
                "there is no such dead letter; `flotilla dead-letters list --each` shows their names")
        }
        found.showAll(invocation)
    }

    // MARK: Redrive and discard

    private static func redrive(_ filter: DeadLetterFilter, _ invocation: Invocation) throws {
        try invocation.refuseEverything(filter)
        let redrive = Redrive(
            deadLetters: try invocation.letterBox(), filter: filter, author: CatalogAccess.author,
            run: Invocation.freshRun())
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
            invocation.tellProgress("\(tally.letters) of \(planned.letters) dead letters sent again")
        }
        print(isJSON ? RedriveReport(done).json(isDone: true) : RedriveReport(done).text(isDone: true))
    }

    private static func discard(_ filter: DeadLetterFilter, _ invocation: Invocation) throws {
        try invocation.refuseEverything(filter)
        let discard = Discard(
            deadLetters: try invocation.letterBox(), filter: filter, author: CatalogAccess.author,
            run: Invocation.freshRun())
        let (letters, busy) = try discard.preview()
        let isJSON = invocation.options["--json"] != nil
        func report(_ count: Int, isDone: Bool) {
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
        let isDry = invocation.options["--dry-run"] != nil
        if isDry || !isJSON { report(letters, isDone: false) }
        if isDry { return }
        if letters > 0 { try invocation.confirm(orElse: "nothing was discarded") }
        report(
            try discard.execute { invocation.tellProgress("\($0) of \(letters) letters discarded") },
            isDone: true)
    }
}

extension Invocation {
    static func freshRun() -> String { "a" + Hex.text(of: Random.bytes(count: 6)) }

    fileprivate func letterFilter(names: [String]) throws -> DeadLetterFilter {
        var filter = DeadLetterFilter()
        if let app = options["--app"] {
            guard AppIDRules.problem(app) == nil else {
                throw Refusal(status: .usage, "--app is not an app id")
            }
            filter.app = app
        }
        filter.stage = options["--stage"]
        filter.code = options["--reason"]
        filter.since = try time("--since")
        filter.until = try time("--until")
        guard names.count <= DeadLetterFilter.idsMax else {
            throw Refusal(status: .usage, "name at most \(DeadLetterFilter.idsMax) letters")
        }
        for text in names {
            guard let name = DeadLetterID(text) else {
                throw Refusal(
                    status: .usage,
                    "\(text) is not the name of a dead letter; a name is partition and offset: 3/1042")
            }
            filter.ids.insert(name)
        }
        return filter
    }

    /// Returns milliseconds since 1970. The option's value is a date, or a period before now.
    func time(_ option: String) throws -> Int64? {
        guard let text = options[option] else { return nil }
        let now = WallTime.now().milliseconds
        if let ago = Milliseconds(settingText: text) { return max(0, now - Int64(ago.count)) }
        let seconds = unsafe Array(text.utf8).withUnsafeBufferPointer {
            unsafe UTCDate.seconds(iso8601: $0)
        }
        guard let seconds, seconds >= 0 else {
            throw Refusal(
                status: .usage,
                "\(option) must be \(Milliseconds.typeDescription), or a date such as 2026-11-20T20:00:00Z")
        }
        return seconds * 1_000
    }

    fileprivate func letterLimit() throws -> Int {
        guard let text = options["--limit"] else { return 100 }
        guard let limit = Int(text), (1...10_000).contains(limit) else {
            throw Refusal(status: .usage, "--limit must be a number from 1 to 10000")
        }
        return limit
    }

    /// Refuses a call without a filter, because such a call is usually a mistake.
    fileprivate func refuseEverything(_ filter: DeadLetterFilter) throws {
        guard !filter.isAll || options["--every"] != nil else {
            throw Refusal(
                status: .usage,
                "select dead letters with their names, --app, --stage, --reason, --since, --until, or --every"
            )
        }
    }

    /// Returns access to the dead letters. Throws at once if the cluster, the topic or the number of lanes is
    /// wrong.
    func letterBox() throws -> DeadLetterTopic {
        let layout = TopicLayout(settings)
        let kafka = settings[KafkaSettings.self]
        try layout.require([.deadLetters], on: AdminClient(settings: kafka, log: .silent, metrics: Metrics()))
        return DeadLetterTopic(settings: kafka, layout: layout)
    }
}
