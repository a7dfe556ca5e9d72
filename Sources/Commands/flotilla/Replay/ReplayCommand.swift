internal import Identifiers
internal import JSON
internal import Lifecycle
internal import Replay
internal import Settings
internal import Topics

extension Command {
    /// `flotilla replay`: four repairs. `rebuild` deletes state files, which the stage builds again from
    /// topics. `reports` lets ingest read reports again. `resend` pushes the failed jobs of a send again.
    /// `offset` sets where a stage continues.
    static let replay = Command(
        name: "replay",
        summary:
            "Rebuilds a stage's state files from their topics at its next start, lets ingest read reports again, pushes a send's failed jobs again, or sets the offset at which a stage continues.",
        usage:
            "rebuild --stage \(StateRebuild.all.map(\.stage).joined(separator: "|")) [--data DIR] [--dry-run] [--yes] | reports --from TIME|PARTITION/OFFSET [--run NAME] [--dry-run] [--yes] | resend SEND --app APP [--dry-run] [--yes] | offset --topic TOPIC --partition N --to beginning|end|OFFSET [--group GROUP] [--dry-run] [--yes]",
        example: "flotilla replay rebuild --stage ingest --data /var/lib/flotilla",
        namespace: "run", settings: ["run.data", "topics.", "kafka."],
        options: [
            .value("--stage", "rebuild: the stage: \(StateRebuild.all.map(\.stage).joined(separator: ", "))"),
            .value(
                "--from",
                "reports: those of this last period (2h), since a date (2026-11-20T20:00:00Z), or of one partition from an offset (3/1042)"
            ),
            .value("--run", "reports: continues the interrupted call with this name"),
            .value("--app", "resend: the app's id"),
            .value("--topic", "offset: the topic, without its prefix"),
            .value("--partition", "offset: the partition's number"),
            .value("--group", "offset: the consumer group, if several groups read the topic"),
            .value("--to", "offset: where its stage continues: beginning, end, or an offset"),
            .flag(
                "--unknown-starts",
                "resend: also starts with an unknown outcome; a phone may then show two activities"
            ),
            .flag("--dry-run", "prints the plan, changes nothing and does not ask"),
            .flag("--yes", "does not ask for confirmation"),
            .flag("--json", "reports, resend: prints one JSON object per line instead of sentences"),
        ]
    ) { invocation in
        switch (invocation.positionals.first, invocation.positionals.count) {
        case ("rebuild", 1): try rebuildState(for: invocation)
        case ("reports", 1): try replayReports(for: invocation)
        case ("resend", _): try resendJobs(for: invocation)
        case ("offset", 1): try resetOffset(for: invocation)
        default:
            throw CommandError(
                status: .usage, "use rebuild, reports, offset, or resend with the id of a send")
        }
    }

    private static func rebuildState(for invocation: Invocation) throws {
        let stageNames = StateRebuild.all.map(\.stage).joined(separator: " or ")
        guard let rebuild = StateRebuild.all.first(where: { $0.stage == invocation.options["--stage"] })
        else {
            throw CommandError(status: .usage, "name the stage with --stage: \(stageNames)")
        }
        let dataDirectory = try invocation.settings[RunSettings.self].dataDirectory()
        try rebuild.run(under: dataDirectory + "/slots", for: invocation)
    }

    private static func resetOffset(for invocation: Invocation) throws {
        let reset = try OffsetReset(for: invocation)
        print(reset.plan)
        if invocation.isDryRun { return }
        try invocation.confirm(orElse: "the offset stays")
        try reset.apply()
        print("the stage continues at \(reset.target) when it starts")
    }

    private static func replayReports(for invocation: Invocation) throws {
        let run = invocation.options["--run"] ?? Invocation.newRunID()
        guard NameRules.problem(run) == nil, !run.contains("/") else {
            throw CommandError(status: .usage, "--run is not a valid name of a call")
        }
        let start = try invocation.reportReplayStart()
        let replay = ReportReplay(
            deadLetters: try invocation.deadLetterTopic(), from: start, author: CatalogAccess.author, run: run
        )
        let plannedTally = try replay.preview()
        let isJSON = invocation.isJSON
        if !isJSON {
            print("\(plannedTally.reports) reports will be read again; the name of this call is \(run)")
            if plannedTally.copiedBefore > 0 {
                print(
                    "\(plannedTally.copiedBefore) were already read again by an earlier call with this name")
            }
        }
        func json(of tally: ReportReplay.Tally, isDone: Bool) -> String {
            JSONLine.text { json in
                json.field(isDone ? "readAgain" : "wouldReadAgain", tally.reports)
                json.field("run", run)
            }
        }
        if invocation.isDryRun || plannedTally.reports == 0 {
            if isJSON { print(json(of: plannedTally, isDone: false)) }
            return
        }
        try invocation.confirm(orElse: "nothing will be read again")
        let doneTally = try replay.execute { tally in
            invocation.printProgress(
                "\(tally.reports) of \(plannedTally.reports) reports; if interrupted, continue with --run \(run)"
            )
        }
        print(isJSON ? json(of: doneTally, isDone: true) : "ingest reads \(doneTally.reports) reports again")
    }

    private static func resendJobs(for invocation: Invocation) throws {
        let app = try invocation.requireApp()
        guard invocation.positionals.count == 2, NameRules.problem(invocation.positionals[1]) == nil else {
            throw CommandError(status: .usage, "name one send by its id")
        }
        let resend = Resend(
            deadLetters: try invocation.deadLetterTopic(), send: invocation.positionals[1], of: app,
            withUnknownStarts: invocation.hasOption("--unknown-starts"), author: CatalogAccess.author,
            run: Invocation.newRunID())
        let plannedTally = try resend.preview()
        let isJSON = invocation.isJSON
        if !isJSON { print(ResendReport(plannedTally).text(isDone: false)) }
        if invocation.isDryRun || plannedTally.jobs == 0 {
            if isJSON { print(ResendReport(plannedTally).json(newSendID: nil)) }
            return
        }
        try invocation.confirm(orElse: "nothing was pushed")
        let lanes = TopicLayout(settings: invocation.settings).lanes
        let doneTally = try resend.execute { lane, tally in
            invocation.printProgress("lane \(lane) of \(lanes), \(tally.jobs) of \(plannedTally.jobs) jobs")
        }
        print(
            isJSON
                ? ResendReport(doneTally).json(newSendID: resend.newSendID)
                : ResendReport(doneTally).text(isDone: true) + "\ntheir new send is \(resend.newSendID)")
    }
}

extension Invocation {
    /// Returns the first report: an offset in one partition, or a time.
    fileprivate func reportReplayStart() throws -> ReportReplay.Start {
        if let position = options["--from"].flatMap({ DeadLetterID($0) }) {
            let partitions = TopicLayout(settings: settings).partitionCount(of: .reports)
            guard position.partition < partitions else {
                throw CommandError(
                    status: .usage,
                    "--from names a partition that reports does not have; use 0 to \(partitions - 1)")
            }
            return .position(position)
        }
        guard let time = try time(ofOption: "--from") else {
            throw CommandError(
                status: .usage, "name the first report with --from: 2h, 2026-11-20T20:00:00Z, or 3/1042")
        }
        return .time(time)
    }
}
