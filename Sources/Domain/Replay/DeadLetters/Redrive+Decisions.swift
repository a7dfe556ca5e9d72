internal import Jobs
internal import Kafka
internal import RecordFormat
internal import Telemetry
internal import Topics

extension Redrive {
    /// Passes the dead letters of a partition that may be sent to `body`, in order.
    ///
    /// It works in rounds. Each round reads the partition twice: first to find the versions of groups and scopes
    /// (`prepareRound`), then to decide by them. They are held in memory, and their limit ends a round.
    ///
    /// - Parameters:
    ///   - end: The first offset that is not visited.
    ///   - settled: Receives the dead letters that an earlier call had already sent.
    func forEachItem(
        in partition: Int32, journal: DeadLetterJournal, before end: Int64 = .max,
        body: (Item) throws -> Void, settled: (DeadLetterID) throws -> Void
    ) throws {
        var start = filter.scanStart
        while true {
            let round = try prepareRound(in: partition, journal: journal, from: start, before: end)
            try deadLetters.forEachWithOwnState(
                in: partition, matching: filter, journal: journal, from: start, before: end
            ) { letter, state in
                if let next = round.next, letter.id.offset >= next { throw TopicScanner.StopScan() }
                guard state == .open || state == .doubtful else { return }
                switch try decide(letter, journal: journal, checks: round.versions) {
                case .send(let item): try body(item)
                case .alreadySent: try settled(letter.id)
                case .skip: break
                }
            }
            guard let next = round.next else { return }
            start = .offset(next)
        }
    }

    /// One round of decisions.
    private struct Round {
        var versions = VersionChecks()
        /// The first dead letter of the next round; nil in the last round.
        var next: Int64?
    }

    /// The versions for the dead letters of one round.
    private struct VersionChecks {
        var scopes = ScopeVersionCheck()
        var groups = GroupVersionCheck()
        var isFull: Bool { scopes.isFull || groups.isFull }
    }

    /// Requests the versions for dead letters from `start` on, up to the limit, and reads them.
    private func prepareRound(
        in partition: Int32, journal: DeadLetterJournal, from start: TopicScanner.Start, before end: Int64
    ) throws -> Round {
        var round = Round()
        try deadLetters.forEachWithOwnState(
            in: partition, matching: filter, journal: journal, from: start, before: end
        ) { letter, state in
            guard state == .open || state == .doubtful else { return }
            if round.versions.isFull {
                round.next = letter.id.offset
                throw TopicScanner.StopScan()
            }
            requestVersions(with: &round.versions, for: letter)
        }
        try round.versions.scopes.read(from: deadLetters, lane: partition)
        try round.versions.groups.read(from: deadLetters)
        return round
    }

    private func requestVersions(with versions: inout VersionChecks, for letter: DeadLetterRecord) {
        if let sheet = letter.sheet {
            versions.scopes.requestRows(for: sheet.head, jobs: sheet.addressees)
        } else if let record = try? RedrivenRecord(letter, layout: deadLetters.layout),
            record.topic == .sends,
            let key = letter.key
        {
            versions.groups.request(key, in: record.partition)
        }
    }

    private enum RedriveDecision {
        case send(Item)
        /// An earlier call has already sent the dead letter.
        case alreadySent
        /// The dead letter stays in the topic. The reason is counted.
        case skip
    }

    /// Decides about one dead letter that is open or doubtful.
    private func decide(
        _ letter: DeadLetterRecord, journal: DeadLetterJournal, checks versions: VersionChecks
    ) throws -> RedriveDecision {
        let target: RedrivenRecord
        do {
            target = try RedrivenRecord(letter, layout: deadLetters.layout)
        } catch {
            return skip(because: error.reason)
        }
        let now = WallTime.now().milliseconds
        let begun = journal.begunAction(on: letter.id.offset)
        if let begun, begun.run != run {
            guard now - begun.at > busyMilliseconds else { return skip(because: .busy) }
            if try previousReplays.contains(
                letter.id.text, in: target.topic, partition: target.partition, since: begun.at)
            {
                return .alreadySent
            }
        }
        // The lines to send. Nil if the record is not a sheet.
        var lines: LineSet?
        if let sheet = letter.sheet {
            if journal.isTakenByResend(sheet.allJobs) { return skip(because: .resent) }
            let sendable = sendableLines(of: sheet, checks: versions.scopes, now: now)
            if sendable.isEmpty { return .skip }
            lines = sendable
        } else if target.topic == .sends, let key = letter.key,
            versions.groups.hasNewerSend(key, than: letter.rejection.writtenAt)
        {
            return skip(because: .newer)
        }
        return .send(
            Item(
                id: letter.id, record: target.outgoingRecord(lines: lines, at: now),
                writers: target.writers,
                jobs: lines?.count ?? 1, byteCount: letter.byteCount,
                sheetLines: letter.sheet?.jobs(atLines: lines ?? LineSet()) ?? [], app: letter.app,
                abandonedRun: begun?.run))
    }

    /// Returns the lines of a sheet that may be sent. The others are counted by reason.
    private func sendableLines(of sheet: DeadLetterSheet, checks scopes: ScopeVersionCheck, now: Int64)
        -> LineSet
    {
        var sendable = LineSet()
        for (line, job) in sheet.addressees.enumerated() {
            if let reason = scopes.skipReason(for: sheet.head, job: job, now: now) {
                countSkipped(reason)
            } else {
                sendable.append(line)
            }
        }
        return sendable
    }

    private func skip(because reason: ReplaySkipReason) -> RedriveDecision {
        countSkipped(reason)
        return .skip
    }

    private func countSkipped(_ reason: ReplaySkipReason) { tally.skipped[reason, default: 0] += 1 }
}
