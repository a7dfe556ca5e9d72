internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Telemetry
internal import Topics

/// A call that pushes the failed jobs of one send again, as jobs of a new send. It takes jobs that were
/// rejected for a reason other than their token and, on request, starts with an unknown outcome. Body and
/// version stay the same, so phones and senders can still detect newer content.
package final class Resend {
    static let batchSheetsMax = 200
    static let batchBytesMax = 16 << 20
    /// The clock difference that the search for the send's receipts tolerates.
    private static let clocksApartMilliseconds: Int64 = 60_000

    package struct Tally: Sendable, Hashable {
        /// The jobs that are sent, or would be sent.
        package var jobs = 0
        package var sheets = 0
        /// The starts with an unknown outcome that were not requested.
        package var unknown = 0
        /// The jobs whose token is dead.
        package var gone = 0
        /// The jobs that this command or a redrive has already sent again.
        package var before = 0
        /// The jobs whose sheet has expired in its topic.
        package var lost = 0
        package var objections: [Objection: Int] = [:]

        package init() {}
    }

    private let box: LetterBox
    private let send: String
    private let app: String
    private let withUnknownStarts: Bool
    private let author: String
    private let run: String
    private let busyMilliseconds: Int64
    private var tally = Tally()
    private var sightings: Sightings

    /// - Parameters:
    ///   - send: The id that the send was accepted with.
    ///   - author: The caller, for the marks and the audit.
    ///   - run: The unique name of this call.
    ///   - busyMilliseconds: The time in which the jobs of another call are left alone.
    package init(
        _ box: LetterBox, send: String, of app: String, withUnknownStarts: Bool, author: String, run: String,
        busyMilliseconds: Int64 = Redrive.busyMilliseconds
    ) {
        (self.box, self.send, self.app) = (box, send, app)
        self.withUnknownStarts = withUnknownStarts
        self.author = author
        self.run = run
        self.busyMilliseconds = busyMilliseconds
        sightings = Sightings(box)
    }

    /// The id of the new send. It begins with the original id.
    package var newSend: String { "\(send.prefix(Name.bytesMax - 1 - run.utf8.count)).\(run)" }

    package func survey() throws -> Tally { try go(by: nil) { _, _ in } }

    /// Sends the failed jobs.
    ///
    /// - Parameter progress: Called after each lane with the number of finished lanes and the counts.
    package func carryOut(_ progress: (Int, Tally) -> Void) throws -> Tally {
        try go(by: ReplayWriter(box, author: author, run: run), progress)
    }

    private func go(by writer: ReplayWriter?, _ progress: (Int, Tally) -> Void) throws -> Tally {
        tally = Tally()
        guard let acceptedAt = try acceptedAt() else {
            throw ReplayFailure(
                .noInput, "there is no such send of \(app) in the last seven days; check the id and the app")
        }
        try writer?.audit(
            "send.resend", app: app, subject: String("\(send), run \(run)".prefix(Name.bytesMax)))
        for lane in box.partitions {
            try go(through: lane, since: acceptedAt - Self.clocksApartMilliseconds, by: writer)
            progress(Int(lane) + 1, tally)
        }
        return tally
    }

    /// Returns the time at which the send was accepted, or nil if the app has no such send.
    private func acceptedAt() throws -> Int64? {
        let key = RecordKey.join(send)
        let partition = Murmur2.partition(of: key.span, of: box.layout.lanes)
        let reader = JSONReader()
        var found: Int64?
        try box.scan(.progress, in: Int32(partition)) { record in
            guard let own = [UInt8](copying: record.key), own == key,
                let value = [UInt8](copying: record.value),
                let progress = try? Progress.decode(value, with: reader), progress.key.app == app
            else { return }
            found = progress.acceptedAt
        }
        return found
    }

    // MARK: One lane

    private func go(through lane: Int32, since time: Int64, by writer: ReplayWriter?) throws {
        var failed = FailedJobs(of: send, app: app)
        try box.scan(.receipts, in: lane, from: .time(time)) { failed.read($0) }
        tally.gone += failed.gone
        let places = failed.places
        guard !places.isEmpty else { return }
        var journal = LetterJournal(keepsJobs: true)
        try box.scan(.deadLetters, in: lane, from: .time(time)) { journal.read($0) }
        var batch: [ResentSheet] = []
        var bytes = 0
        try forEachSheet(at: places, of: failed, knowing: journal) { [self] sheet in
            batch.append(sheet)
            bytes += sheet.bytes
            guard batch.count >= Self.batchSheetsMax || bytes >= Self.batchBytesMax else { return }
            try send(batch, &journal, in: lane, by: writer)
            (batch, bytes) = ([], 0)
        }
        try send(batch, &journal, in: lane, by: writer)
    }

    /// Passes the sheets with jobs that may be sent to `body`, read from their places.
    private func forEachSheet(
        at places: [JobPlace], of failed: FailedJobs, knowing journal: LetterJournal,
        _ body: (ResentSheet) throws -> Void
    ) throws {
        var first = 0
        while first < places.count {
            let run = places[first...].prefix {
                $0.topic == places[first].topic && $0.partition == places[first].partition
            }
            first = run.endIndex
            guard let topic = TopicName(rawValue: run[run.startIndex].topic) else {
                for place in run { lose(place, failed) }
                continue
            }
            var wanted = run
            try box.scan(topic, in: run[run.startIndex].partition, from: .offset(run[run.startIndex].offset))
            {
                record in
                while let place = wanted.first, place.offset < record.offset {
                    lose(place, failed)
                    wanted = wanted.dropFirst()
                }
                guard let place = wanted.first else { throw TopicScanner.Enough() }
                guard place.offset == record.offset else { return }
                wanted = wanted.dropFirst()
                let sheet = try ResentSheet(record, at: place) {
                    try wants($0, at: place, of: failed, knowing: journal)
                }
                if let sheet { try body(sheet) }
            }
            for place in wanted { lose(place, failed) }
        }
    }

    private func lose(_ place: JobPlace, _ failed: FailedJobs) {
        for line in 0..<SheetHead.jobsMax where failed.hasFailed(line, at: place) { tally.lost += 1 }
    }

    private func wants(
        _ line: Int, at place: JobPlace, of failed: FailedJobs, knowing journal: LetterJournal
    ) throws -> Bool {
        if failed.isUnknown(line, at: place), !withUnknownStarts {
            tally.unknown += 1
            return false
        }
        guard failed.hasFailed(line, at: place) || failed.isUnknown(line, at: place) else { return false }
        guard journal.wasSentAgain(line, at: place) else { return true }
        if let begun = journal.begunSheet(place), begun.run != run {
            guard WallTime.now().milliseconds - begun.at > busyMilliseconds else {
                tally.objections[.busy, default: 0] += 1
                return false
            }
            let isDone = try sightings.has(
                ResentSheet.name(place), in: .jobsLater5s, place.partition, since: begun.at)
            if !isDone { return true }
        }
        tally.before += 1
        return false
    }

    private func send(
        _ sheets: [ResentSheet], _ journal: inout LetterJournal, in lane: Int32, by writer: ReplayWriter?
    ) throws {
        guard !sheets.isEmpty else { return }
        var scopes = ScopeGuard()
        for sheet in sheets {
            var jobs: [Addressee] = []
            sheet.wanted.forEachLine { jobs.append(sheet.addressee($0)) }
            scopes.ask(sheet.head, jobs)
        }
        try scopes.read(box, lane: lane)
        let now = WallTime.now().milliseconds
        var going: [(sheet: ResentSheet, lines: LineSet)] = []
        for sheet in sheets {
            var lines = LineSet()
            sheet.wanted.forEachLine { line in
                if let objection = scopes.objection(to: sheet.head, sheet.addressee(line), now: now) {
                    tally.objections[objection, default: 0] += 1
                } else {
                    lines.append(line)
                }
            }
            if !lines.isEmpty { going.append((sheet, lines)) }
        }
        if let writer { going = try claim(going, &journal, in: lane, by: writer) }
        try writer?.send(going.map { $0.sheet.record($0.lines, as: newSend, in: lane) })
        if !going.isEmpty {
            try writer?.mark(.resend, .done, in: lane, jobs: going.map(Self.jobs))
        }
        tally.sheets += going.count
        tally.jobs += going.reduce(0) { $0 + $1.lines.count }
    }

    /// Marks the sheets and returns those that no other call has begun.
    private func claim(
        _ going: [(sheet: ResentSheet, lines: LineSet)], _ journal: inout LetterJournal, in lane: Int32,
        by writer: ReplayWriter
    ) throws -> [(sheet: ResentSheet, lines: LineSet)] {
        guard !going.isEmpty else { return [] }
        let dead = Dictionary(grouping: going) { journal.begunSheet($0.sheet.place)?.run }
        for case (let run?, let sheets) in dead {
            try writer.mark(.resend, .left, in: lane, of: run, jobs: sheets.map(Self.jobs))
        }
        let claim = try writer.mark(.resend, .begun, in: lane, jobs: going.map(Self.jobs))
        try box.scan(.deadLetters, in: lane, from: .offset(journal.end)) { record in
            guard record.offset <= claim else { throw TopicScanner.Enough() }
            journal.read(record)
        }
        return going.filter { sheet, lines in
            if journal.begunSheet(sheet.place)?.run == run { return true }
            tally.objections[.busy, default: 0] += lines.count
            return false
        }
    }

    private static func jobs(_ going: (sheet: ResentSheet, lines: LineSet)) -> LetterMark.Jobs {
        LetterMark.Jobs(place: going.sheet.place, lines: going.lines)
    }
}
