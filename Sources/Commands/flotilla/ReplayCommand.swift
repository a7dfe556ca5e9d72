internal import FoundationEssentials
internal import Glibc
internal import Identifiers
internal import Kafka
internal import Lifecycle
internal import Replay
internal import Settings
internal import Telemetry
internal import Topics

extension Command {
    /// `flotilla replay`: for repairs. A rebuild has no effect outside: it deletes files that are copies of
    /// topics, and the stage makes them again. A resend pushes.
    static let replay = Command(
        name: "replay",
        summary:
            "Rebuilds a stage's state files from their topics at its next start, lets ingest read reports again, pushes a send's failed jobs again, or sets the offset at which a stage continues.",
        usage:
            "rebuild --stage \(StateRebuild.all.map(\.stage).joined(separator: "|")) [--data DIR] [--dry-run] [--yes] | reports --from TIME|PARTITION/OFFSET [--run NAME] [--dry-run] [--yes] | resend SEND --app APP [--dry-run] [--yes] | offset --topic TOPIC --partition N --to beginning|end|OFFSET [--dry-run] [--yes]",
        example: "flotilla replay rebuild --stage ingest --data /var/lib/flotilla",
        namespace: "run", settings: ["run.data", "topics.", "kafka."],
        options: [
            ("--stage", true, "rebuild: the stage: \(StateRebuild.all.map(\.stage).joined(separator: ", "))"),
            (
                "--from", true,
                "reports: those of this last period (2h), since a date (2026-11-20T20:00:00Z), or of one partition from an offset (3/1042)"
            ),
            ("--run", true, "reports: continues the interrupted call with this name"),
            ("--app", true, "resend: the app's id"),
            ("--topic", true, "offset: the topic, without its prefix"),
            ("--partition", true, "offset: the partition's number"),
            ("--to", true, "offset: where its stage continues: beginning, end, or an offset"),
            (
                "--unknown-starts", false,
                "resend: also starts with an unknown outcome; a phone may then show two activities"
            ),
            ("--dry-run", false, "prints the plan, changes nothing and does not ask"),
            ("--yes", false, "does not ask for confirmation"),
            ("--json", false, "reports, resend: prints one JSON object per line instead of sentences"),
        ]
    ) { invocation in
        if invocation.positionals.first == "resend" { return try resendJobs(for: invocation) }
        if invocation.positionals == ["reports"] { return try replayReports(for: invocation) }
        if invocation.positionals == ["offset"] { return try resetOffset(for: invocation) }
        guard invocation.positionals == ["rebuild"] else {
            throw CommandError(
                status: .usage, "use rebuild, reports, offset, or resend with the id of a send")
        }
        let known = StateRebuild.all.map(\.stage).joined(separator: " or ")
        guard let rebuild = StateRebuild.all.first(where: { $0.stage == invocation.options["--stage"] })
        else {
            throw CommandError(status: .usage, "name the stage with --stage: \(known)")
        }
        let named = invocation.settings[RunSettings.self].data
        let data = named.isEmpty ? try DataDirectory.defaultPath() : named
        try rebuild.run(under: data + "/slots", for: invocation)
    }

    private static func resetOffset(for invocation: Invocation) throws {
        let reset = try OffsetReset(for: invocation)
        print(reset.plan)
        if invocation.options["--dry-run"] != nil { return }
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
        let planned = try replay.preview()
        let isJSON = invocation.options["--json"] != nil
        if !isJSON {
            print("\(planned.reports) reports will be read again; the name of this call is \(run)")
            if planned.copiedBefore > 0 {
                print("\(planned.copiedBefore) were already read again by an earlier call with this name")
            }
        }
        func json(of tally: ReportReplay.Tally, isDone: Bool) -> String {
            var line = JSONLine()
            line.field(isDone ? "readAgain" : "wouldReadAgain", Int64(tally.reports))
            line.field("run", run)
            return line.text
        }
        if isJSON, invocation.options["--dry-run"] != nil || planned.reports == 0 {
            print(json(of: planned, isDone: false))
        }
        if invocation.options["--dry-run"] != nil || planned.reports == 0 { return }
        try invocation.confirm(orElse: "nothing will be read again")
        let done = try replay.execute { tally in
            invocation.printProgress(
                "\(tally.reports) of \(planned.reports) reports; if interrupted, continue with --run \(run)")
        }
        print(isJSON ? json(of: done, isDone: true) : "ingest reads \(done.reports) reports again")
    }

    private static func resendJobs(for invocation: Invocation) throws {
        let app = try invocation.requireApp()
        guard invocation.positionals.count == 2, NameRules.problem(invocation.positionals[1]) == nil else {
            throw CommandError(status: .usage, "name one send by its id")
        }
        let resend = Resend(
            deadLetters: try invocation.deadLetterTopic(), send: invocation.positionals[1], of: app,
            withUnknownStarts: invocation.options["--unknown-starts"] != nil, author: CatalogAccess.author,
            run: Invocation.newRunID())
        let planned = try resend.preview()
        let isJSON = invocation.options["--json"] != nil
        if !isJSON { print(ResendReport(planned).text(isDone: false)) }
        if invocation.options["--dry-run"] != nil {
            if isJSON { print(ResendReport(planned).json(newSendID: nil)) }
            return
        }
        guard planned.jobs > 0 else {
            if isJSON { print(ResendReport(planned).json(newSendID: nil)) }
            return
        }
        try invocation.confirm(orElse: "nothing was pushed")
        let lanes = TopicLayout(settings: invocation.settings).lanes
        let done = try resend.execute { lane, tally in
            invocation.printProgress("lane \(lane) of \(lanes), \(tally.jobs) of \(planned.jobs) jobs")
        }
        print(
            isJSON
                ? ResendReport(done).json(newSendID: resend.newSendID)
                : ResendReport(done).text(isDone: true) + "\ntheir new send is \(resend.newSendID)")
    }
}

extension Invocation {
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

/// The result of a resend, planned or done.
private struct ResendReport {
    private let tally: Resend.Tally

    init(_ tally: Resend.Tally) { self.tally = tally }

    func text(isDone: Bool) -> String {
        var lines = ["\(tally.jobs) failed jobs \(isDone ? "were pushed" : "will be pushed") again"]
        func addLine(count: Int, reason why: String) {
            if count > 0 { lines.append("\(count) stay: \(why)") }
        }
        addLine(
            count: tally.deadTokens,
            reason: "their token is dead; a new token gets the newest state automatically")
        addLine(
            count: tally.unknown, reason: "starts with an unknown outcome; --unknown-starts pushes them too")
        addLine(count: tally.sentBefore, reason: "they were sent again before")
        addLine(count: tally.lost, reason: "their sheet is no longer kept")
        return (lines + tally.skipped.sentences).joined(separator: "\n")
    }

    func json(newSendID send: String?) -> String {
        var line = JSONLine()
        line.field(send == nil ? "wouldPush" : "pushed", Int64(tally.jobs))
        if let send { line.field("sendId", send) }
        line.field("tokenGone", Int64(tally.deadTokens))
        line.field("unknownStarts", Int64(tally.unknown))
        line.field("sentAgainBefore", Int64(tally.sentBefore))
        line.field("notKept", Int64(tally.lost))
        line.addSkippedCounts(tally.skipped)
        return line.text
    }
}

/// The state files of one stage, and the topics that they are built from.
private struct StateRebuild {
    /// The name of the stage, and of its directory within a slot.
    let stage: String
    let topics: [TopicName]

    static let all = [
        StateRebuild(stage: "ingest", topics: [.installations]),
        StateRebuild(stage: "fan-out", topics: [.groups, .starts, .registry]),
        StateRebuild(stage: "scheduler", topics: [.timers]),
        StateRebuild(
            stage: "insight",
            topics: [.receipts, .events, .progress, .groups, .installations, .timers, .audit]),
    ]

    /// Removes the state files. The slots stay locked until the files are gone, so that no process can start
    /// to use them.
    func run(under slots: String, for invocation: Invocation) throws {
        let found = try ProcessSlot.allExisting(under: slots)
        for case .held(let path) in found where FileManager.default.fileExists(atPath: "\(path)/\(stage)") {
            throw CommandError(
                status: .temporary, "a running process uses \(path)/\(stage); stop it and try again")
        }
        let files = found.compactMap { entry -> String? in
            guard case .free(let slot) = entry else { return nil }
            let path = "\(slot.path)/\(stage)"
            return FileManager.default.fileExists(atPath: path) ? path : nil
        }
        guard !files.isEmpty else { return print("there are no state files of \(stage) under \(slots)") }
        let records = (try? countRecords(settings: invocation.settings)).map { "at most \($0)" } ?? "the"
        print(
            Table(headers: ["state of \(stage)", "bytes"], rows: files.map { [$0, String(bytes(of: $0))] })
                .text)
        print(
            "They will be removed, and built again from \(records) records of \(topics.map(\.rawValue).joined(separator: ", "))."
        )
        if invocation.options["--dry-run"] != nil { return }
        try invocation.confirm(orElse: "nothing was removed")
        for (index, file) in files.enumerated() {
            do {
                try FileManager.default.removeItem(atPath: file)
            } catch {
                throw CommandError(
                    status: .cannotCreate, "cannot remove \(file); the files before it are removed")
            }
            print("removed \(index + 1) of \(files.count): \(file)")
        }
    }

    /// Returns the number of offsets of the topics: an upper bound, because compaction has removed some
    /// records. Throws if the broker stopped together with the stage.
    private func countRecords(settings: ResolvedSettings) throws -> Int64 {
        let layout = TopicLayout(settings: settings)
        let admin = try AdminClient(settings: settings[KafkaSettings.self], log: .silent, metrics: Metrics())
        try layout.require(topics, on: admin)
        var sum: Int64 = 0
        for topic in topics {
            for partition in 0..<Int32(layout.partitionCount(of: topic)) {
                let marks = try admin.watermarks(of: TopicPartition(layout.name(of: topic), partition))
                sum += marks.high - marks.low
            }
        }
        return sum
    }

    private func bytes(of directory: String) -> Int {
        let files = (try? FileManager.default.subpathsOfDirectory(atPath: directory)) ?? []
        return files.reduce(0) { sum, file in
            var status = stat()
            return unsafe lstat("\(directory)/\(file)", &status) == 0 ? sum + Int(status.st_size) : sum
        }
    }
}
