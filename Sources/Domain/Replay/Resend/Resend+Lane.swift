internal import Identifiers
internal import Jobs
internal import Kafka
internal import RecordFormat
internal import Telemetry
internal import Topics

extension Resend {
    /// Sends the failed jobs of one lane, or only counts them.
    ///
    /// - Parameters:
    ///   - time: The time from which on the lane can have receipts of the send.
    ///   - writer: Nil to count only.
    func processLane(_ lane: Int32, since time: Int64, by writer: ReplayWriter?) throws {
        var failed = FailedJobs(of: sendID, app: app)
        try deadLetters.scan(.receipts, in: lane, from: .time(time)) { failed.apply($0) }
        tally.deadTokens += failed.deadTokens
        let positions = failed.positions
        guard !positions.isEmpty else { return }
        var journal = DeadLetterJournal(keepsJobs: true)
        try deadLetters.scan(.deadLetters, in: lane, from: .time(time)) { journal.apply($0) }
        try endKilledCalls(at: positions, journal: &journal, in: lane, by: writer)
        var batch: [ResentSheet] = []
        var byteCount = 0
        try forEachSheet(at: positions, failed: failed, journal: journal) { [self] sheet in
            batch.append(sheet)
            byteCount += sheet.byteCount
            let isFull = batch.count >= Self.batchSheetsMax || byteCount >= Self.batchBytesMax
            guard isFull else { return }
            try send(batch, journal: &journal, in: lane, by: writer)
            (batch, byteCount) = ([], 0)
        }
        try send(batch, journal: &journal, in: lane, by: writer)
    }

    /// Ends the calls that have begun with a sheet and were killed: a call is done with the sheet if its record is there,
    /// and has left it otherwise. A preview changes only the journal.
    private func endKilledCalls(
        at positions: [JobPosition], journal: inout DeadLetterJournal, in lane: Int32,
        by writer: ReplayWriter?
    ) throws {
        let now = WallTime.now().milliseconds
        var previousReplays = PreviousReplays(deadLetters: deadLetters)
        // The jobs by the call and the phase that ends it.
        var jobs: [String: [DeadLetterMark.Phase: [DeadLetterMark.SheetLines]]] = [:]
        for position in positions {
            guard let begun = journal.begunResend(at: position), now - begun.at > busyMilliseconds else {
                continue
            }
            // A call sends all of its jobs of a sheet in one record.
            let wasSent = try previousReplays.contains(
                ResentSheet.name(of: position), ofSend: newSendID(ofRun: begun.run), in: .jobsLater5s,
                partition: lane, since: begun.at)
            jobs[begun.run, default: [:]][wasSent ? .done : .left, default: []]
                .append(DeadLetterMark.SheetLines(position: position, lines: begun.lines))
        }
        for (run, jobsByPhase) in jobs {
            for (phase, jobs) in jobsByPhase {
                if let writer {
                    let mark = try writer.writeMark(.resend, phase: phase, in: lane, ofRun: run, jobs: jobs)
                    try deadLetters.readMarks(of: lane, through: mark, into: &journal)
                } else {
                    let mark = DeadLetterMark(
                        .resend, phase: phase, run: run, author: author, at: now, jobs: jobs)
                    journal.apply(mark, timestamp: now)
                }
            }
        }
    }

    // MARK: Sheets

    /// Reads the sheets with failed jobs, and passes those with jobs that may be sent to `body`.
    ///
    /// - Parameter positions: The positions of the sheets, sorted by topic, partition and offset.
    private func forEachSheet(
        at positions: [JobPosition], failed: FailedJobs, journal: DeadLetterJournal,
        body: (ResentSheet) throws -> Void
    ) throws {
        var remaining = positions[...]
        while let first = remaining.first {
            let samePartition = remaining.prefix {
                $0.topic == first.topic && $0.partition == first.partition
            }
            remaining = remaining[samePartition.endIndex...]
            guard let topic = TopicName(rawValue: first.topic) else {
                for position in samePartition { countLost(at: position, failed: failed) }
                continue
            }
            var unread = samePartition
            try deadLetters.scan(topic, in: first.partition, from: .offset(first.offset)) { record in
                // The topic has deleted the records before this one.
                while let position = unread.first, position.offset < record.offset {
                    countLost(at: position, failed: failed)
                    unread = unread.dropFirst()
                }
                guard let position = unread.first else { throw TopicScanner.StopScan() }
                guard position.offset == record.offset else { return }
                unread = unread.dropFirst()
                let sheet = ResentSheet(record, at: position) {
                    shouldSend($0, at: position, failed: failed, journal: journal)
                }
                if let sheet { try body(sheet) }
            }
            for position in unread { countLost(at: position, failed: failed) }
        }
    }

    /// Counts the jobs of a sheet that its topic has deleted.
    private func countLost(at position: JobPosition, failed: FailedJobs) {
        for line in 0..<SheetHead.jobsMax {
            if failed.hasFailed(line, at: position) {
                tally.lost += 1
            } else if failed.isUnknown(line, at: position) {
                if includesUnknownStarts { tally.lost += 1 } else { tally.unknown += 1 }
            }
        }
    }

    /// Returns whether a job of a sheet may be sent, as far as receipts and marks show. Otherwise the reason
    /// is counted.
    private func shouldSend(
        _ line: Int, at position: JobPosition, failed: FailedJobs, journal: DeadLetterJournal
    ) -> Bool {
        if failed.isUnknown(line, at: position), !includesUnknownStarts {
            tally.unknown += 1
            return false
        }
        guard failed.hasFailed(line, at: position) || failed.isUnknown(line, at: position) else {
            return false
        }
        if journal.wasSentAgain(line, at: position) {
            tally.sentBefore += 1
            return false
        }
        // `endKilledCalls` has ended the calls that were killed. This one may still run.
        if journal.begunResend(at: position) != nil {
            tally.skipped[.busy, default: 0] += 1
            return false
        }
        return true
    }

    // MARK: Sending

    /// Sends the jobs of some sheets that pass the version check.
    private func send(
        _ sheets: [ResentSheet], journal: inout DeadLetterJournal, in lane: Int32, by writer: ReplayWriter?
    ) throws {
        guard !sheets.isEmpty else { return }
        var scopes = ScopeVersionCheck()
        for sheet in sheets {
            var jobs: [Addressee] = []
            sheet.lines.forEachLine { jobs.append(sheet.addressee(at: $0)) }
            scopes.requestRows(for: sheet.head, jobs: jobs)
        }
        try scopes.read(from: deadLetters, lane: lane)
        let now = WallTime.now().milliseconds
        var sendable: [ResentSheet] = []
        for var sheet in sheets {
            var lines = LineSet()
            sheet.lines.forEachLine { line in
                if let reason = scopes.skipReason(
                    for: sheet.head, job: sheet.addressee(at: line), now: now)
                {
                    tally.skipped[reason, default: 0] += 1
                } else {
                    lines.append(line)
                }
            }
            sheet.lines = lines
            if !lines.isEmpty { sendable.append(sheet) }
        }
        if let writer {
            sendable = try claim(sendable, journal: &journal, in: lane, by: writer)
            try writer.store(sendable.map { $0.outgoingRecord(as: newSendID, in: lane) })
            if !sendable.isEmpty {
                try writer.writeMark(.resend, phase: .done, in: lane, jobs: sendable.map(\.jobs))
            }
        }
        tally.sheets += sendable.count
        tally.jobs += sendable.reduce(0) { $0 + $1.lines.count }
    }

    /// Marks the sheets as begun. Returns those whose jobs no other call has taken since the journal was read: the first
    /// mark counts.
    private func claim(
        _ sheets: [ResentSheet], journal: inout DeadLetterJournal, in lane: Int32, by writer: ReplayWriter
    ) throws -> [ResentSheet] {
        guard !sheets.isEmpty else { return [] }
        let markOffset = try writer.writeMark(.resend, phase: .begun, in: lane, jobs: sheets.map(\.jobs))
        try deadLetters.readMarks(of: lane, through: markOffset, into: &journal)
        let claimed = sheets.filter { journal.isClaimed($0.jobs, byRun: run) }
        let lost = sheets.filter { !journal.isClaimed($0.jobs, byRun: run) }
        tally.skipped[.busy, default: 0] += lost.reduce(0) { $0 + $1.lines.count }
        // The mark of this call may count for some of the jobs. It gives them up, and a later call sends them.
        let givenUp = lost.filter { journal.begunResend(at: $0.position)?.run == run }
        if !givenUp.isEmpty {
            try writer.writeMark(.resend, phase: .left, in: lane, jobs: givenUp.map(\.jobs))
        }
        return claimed
    }
}
