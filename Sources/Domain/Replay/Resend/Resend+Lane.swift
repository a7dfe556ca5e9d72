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
                let sheet = try ResentSheet(record, at: position) {
                    try shouldSend($0, at: position, failed: failed, journal: journal)
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
    ) throws -> Bool {
        if failed.isUnknown(line, at: position), !includesUnknownStarts {
            tally.unknown += 1
            return false
        }
        guard failed.hasFailed(line, at: position) || failed.isUnknown(line, at: position) else {
            return false
        }
        guard journal.wasSentAgain(line, at: position) else { return true }
        if let begun = journal.begunResend(of: line, at: position), begun.run != run {
            guard WallTime.now().milliseconds - begun.at > busyMilliseconds else {
                tally.skipped[.busy, default: 0] += 1
                return false
            }
            // The other call was killed. It has sent all of its jobs of the sheet or none.
            let wasSent = try previousReplays.contains(
                ResentSheet.name(of: position), in: .jobsLater5s, partition: position.partition,
                since: begun.at)
            if !wasSent { return true }
        }
        tally.sentBefore += 1
        return false
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

    /// Marks the sheets as begun. Returns those that no other call has begun: if two calls mark the same
    /// sheet, the first mark counts.
    private func claim(
        _ sheets: [ResentSheet], journal: inout DeadLetterJournal, in lane: Int32, by writer: ReplayWriter
    ) throws -> [ResentSheet] {
        guard !sheets.isEmpty else { return [] }
        let sheetsByRun = Dictionary(grouping: sheets) { journal.begunResend(at: $0.position)?.run }
        for case (let abandonedRun?, let sheets) in sheetsByRun {
            try writer.writeMark(
                .resend, phase: .left, in: lane, ofRun: abandonedRun, jobs: sheets.map(\.jobs))
        }
        let markOffset = try writer.writeMark(.resend, phase: .begun, in: lane, jobs: sheets.map(\.jobs))
        // Other calls may have written marks since the journal was read.
        try deadLetters.scan(.deadLetters, in: lane, from: .offset(journal.readEnd)) { record in
            guard record.offset <= markOffset else { throw TopicScanner.StopScan() }
            journal.apply(record)
        }
        return sheets.filter { sheet in
            if journal.begunResend(at: sheet.position)?.run == run { return true }
            tally.skipped[.busy, default: 0] += sheet.lines.count
            return false
        }
    }
}
