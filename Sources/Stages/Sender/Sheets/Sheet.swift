package import APNs
package import Jobs
internal import Lifecycle
internal import Payloads
internal import Sends

/// A sheet in hand: a record with one request and up to 1,000 lines, and the progress of its lines. A line is one job.
/// Sheets are read as units, but each line is decided separately.
///
/// It is a class, because many tables point to it and its lines change with every push.
package final class Sheet {
    package let topic: JobTopic
    package let offset: Int64
    package let head: SheetHead
    package let index: SheetIndex
    /// The lines whose tokens APNs had never accepted when the sheet was written.
    package let unprovenLines: LineSet
    @safe @exclusivity(unchecked) package private(set) var content: SheetContent
    /// A strong reference, because access to an unowned one costs more than all other bookkeeping of a push.
    /// A lane that is given up has dropped its sheets when it is freed.
    let lane: Lane
    package let app: AppQueues
    /// Fingerprint of the group, if the send names one.
    let group: Fingerprint?
    /// The request. The loop makes it when the connections are first asked about the sheet.
    @safe @exclusivity(unchecked) package var template: PushTemplate?

    // MARK: Origin

    /// The position where its jobs were first stored.
    package let originPosition: JobPosition
    /// The line numbers of its jobs at that position; nil if the sheet is still there.
    let originLines: [Int]?
    /// Number of times that its jobs were stored: 1, and one more for each tier.
    package let attempt: Int
    /// Number of pushes of its jobs that counted as tries before this attempt.
    let earlierTries: Int
    /// The reason for which its jobs were moved to a tier.
    let reason: String?

    // MARK: Lines

    /// Access is unchecked here, and for template, content and counts. Only one thread uses them, nothing
    /// that is called during an access touches them, and every push accesses them several times. The checks cost a
    /// sixth of the plan's time.
    @safe @exclusivity(unchecked) private(set) var states: [LineState]
    /// Number of lines that are not done.
    @safe @exclusivity(unchecked) private(set) var unfinishedLines: Int
    /// Number of lines that are not decided.
    @safe @exclusivity(unchecked) private(set) var undecidedLines: Int
    /// The subject of each line: only one push at a time may be under way for a subject. It is empty until
    /// the first line leaves.
    @safe @exclusivity(unchecked) private(set) var subjects: [UInt64] = []
    /// The activity of each line, for sends to a recipient's scope; otherwise empty.
    private(set) var activities: [Fingerprint] = []
    /// Lines before the cursor are not unsent, except those that were passed over.
    @safe @exclusivity(unchecked) var cursor = 0
    /// Whether it continues an interrupted pass, ahead of earlier sheets of the same update. A pass is the pushes of
    /// one update through a lane.
    private(set) var continuesPass = false
    /// Lines before this one were passed over. They leave after the lines behind it.
    private(set) var passedOver = 0

    // MARK: Outcomes that are not written

    /// Lines that APNs accepted.
    @safe @exclusivity(unchecked) private var accepted = LineBitmap()
    /// The other decided lines, by outcome.
    private var otherOutcomes: [(outcome: LineOutcome, lines: LineBitmap)] = []

    // MARK: Progress in the plan

    /// Its index in `SheetsInHand`; -1 after it has left the hand.
    package internal(set) var slot = -1
    /// Its index in `GroupSheets`, which alone changes it; -1 if it is not in the list.
    var indexInGroup = -1
    /// Whether an earlier owner may have begun it, or a duplicate of it may exist.
    var needsLedger = false
    /// The revision of the ledger with which its lines were compared.
    var comparedLedgerRevision = 0
    /// Whether the connections were asked about it and can push it.
    var isSendable = false
    /// Whether a push or an intent of it was ordered. Then it counts for the turn of its lane.
    var hasUsedTurn = false
    /// Whether it is in the queue of its app.
    var isQueued = false
    /// Whether it is among the sheets with outcomes that are not written.
    var awaitsRecord = false
    /// Whether a line of it is left to the next owner of the lane. Then its offset is not finished here.
    var isAbandoned = false
    /// The first half of the ids of its pushes; 0 until the first one is made.
    @safe @exclusivity(unchecked) private var pushIDHigh: UInt64 = 0

    /// The states of lines, as an approximation of a sheet's memory in bytes.
    private static let byteCountPerLine = 48
    /// The sheet without its content and lines, as such an approximation.
    private static let byteCountOfRest = 1_024

    init(
        _ record: SheetRecord, from topic: JobTopic, at offset: Int64, in lane: Lane, of app: AppQueues,
        group: Fingerprint?
    ) {
        (self.topic, self.offset, self.lane, self.app, self.group) = (topic, offset, lane, app, group)
        (head, index, content) = (record.head, record.index, record.content)
        unprovenLines = record.unprovenLines
        if let origin = record.origin {
            originPosition = JobPosition(
                topic: origin.topic, partition: origin.partition, offset: origin.offset)
            var lines: [Int] = []
            origin.lines.forEachLine { lines.append($0) }
            originLines = lines
            (attempt, earlierTries, reason) = (origin.attempt, origin.countedPushes, origin.reason)
        } else {
            originPosition = JobPosition(topic: topic.word, partition: lane.number, offset: offset)
            originLines = nil
            (attempt, earlierTries, reason) = (1, 0, nil)
        }
        states = Array(repeating: LineState(), count: record.index.lines.count)
        unfinishedLines = states.count
        undecidedLines = states.count
        unprovenLines.forEachLine { states[$0].isUnproven = true }
    }

    package var lineCount: Int { states.count }
    var isInHand: Bool { slot >= 0 }
    /// Whether no line of the sheet waits for a turn or can wait for one later.
    var isOver: Bool { undecidedLines == 0 || isAbandoned }

    /// Approximate memory of the sheet, in bytes.
    var memoryByteCount: Int {
        content.byteCount + states.count * Self.byteCountPerLine + Self.byteCountOfRest
    }

    /// Frees the content of a sheet that has left the hand.
    func freeContent() {
        template = nil
        content = SheetContent(body: [], apns: [], flotilla: [], to: [])
    }

    // MARK: Names of lines

    /// Returns the tag of a push: the slot of the sheet, and in the low 16 bits the line. `SheetsInHand` reads it.
    package func tag(of line: Int) -> UInt64 { UInt64(slot) << 16 | UInt64(line) }

    /// Returns the `apns-id` of a push of one of its jobs. It is the same whenever this attempt is made, also by
    /// another owner, so that a duplicated push can be found. The last two groups of the id are the attempt and the
    /// line.
    package func pushID(of line: Int) -> PushID {
        if pushIDHigh == 0 {
            let text = "\(originPosition.topic)/\(originPosition.partition)/\(originPosition.offset)"
            // The lowest bit is set, so that the value is never 0.
            pushIDHigh = Fingerprint(seed: 0, text).high | 1
        }
        return PushID(high: pushIDHigh, low: UInt64(attempt & 0xFFFF) << 48 | UInt64(originLine(line)))
    }

    /// Returns a part of a line as text.
    ///
    /// - Parameter part: the range of a field in the header `to`, from `index`.
    package func text(_ part: Range<Int32>) -> String {
        String(decoding: content.to[Int(part.lowerBound)..<Int(part.upperBound)], as: UTF8.self)
    }

    // MARK: Subjects and activities

    /// Computes the subjects once: the activity of each line, or the installation of a start.
    @inline(__always)
    func ensureSubjects(seed: UInt64) { if subjects.isEmpty { computeSubjects(seed: seed) } }

    private func computeSubjects(seed: UInt64) {
        subjects.reserveCapacity(states.count)
        unsafe content.to.withUnsafeBytes { bytes in
            for line in index.lines {
                var builder = FingerprintBuilder(seed: seed)
                let name = head.event == .start ? line.installation : line.target
                unsafe builder.add(
                    UnsafeRawBufferPointer(
                        rebasing: bytes[Int(name.lowerBound)..<Int(name.upperBound)]))
                builder.add(app.number)
                subjects.append(builder.fingerprint.high)
            }
        }
    }

    /// Returns the fingerprint of a line's token in the app's environment.
    func tokenFingerprint(of line: Int, seed: UInt64) -> UInt64 {
        fingerprint(of: index.lines[line].token, seed: seed)
    }

    /// Returns the fingerprint of a line's recipient.
    func recipientFingerprint(of line: Int, seed: UInt64) -> UInt64 {
        fingerprint(of: index.lines[line].recipient, seed: seed)
    }

    /// - Parameter part: the range of a field in the header `to`.
    private func fingerprint(of part: Range<Int32>, seed: UInt64) -> UInt64 {
        var builder = FingerprintBuilder(seed: seed)
        unsafe content.to.withUnsafeBytes { bytes in
            unsafe builder.add(
                UnsafeRawBufferPointer(rebasing: bytes[Int(part.lowerBound)..<Int(part.upperBound)]))
        }
        builder.add(app.number)
        return builder.fingerprint.high
    }

    /// Computes the activities, for sends to a recipient's scope. The group counts too, because versions are ordered
    /// only within it.
    func computeActivities(seed: UInt64) {
        guard head.scope == .recipient, head.event != .start else { return }
        let group = Fingerprint(seed: seed, head.group ?? "")
        unsafe content.to.withUnsafeBytes { bytes in
            for line in index.lines {
                var builder = FingerprintBuilder(seed: group.high ^ app.number)
                unsafe builder.add(
                    UnsafeRawBufferPointer(
                        rebasing: bytes[Int(line.target.lowerBound)..<Int(line.target.upperBound)]))
                activities.append(builder.fingerprint)
            }
        }
    }
}

// MARK: Stages of lines

extension Sheet {
    /// Moves a line to its next stage. Returns false if the event has no effect in its stage. A finished line loses its
    /// reservation, so the caller has to look for a permit before.
    @inline(__always) @discardableResult
    func move(_ line: Int, on event: LineEvent) -> Bool {
        let before = states[line]
        guard let next = before.stage.after(event) else { return false }
        states[line].stage = next
        switch event {
        case .recordOrdered: return true
        case .finished:
            unfinishedLines -= 1
            states[line].reservation = .nothing
        case .decided:
            undecidedLines -= 1
            countWaitingStart(line, before: before)
        case .requeued, .intentOrdered, .subjectIsBusy, .pushLeft, .pushIsOverdue, .backedOff:
            countWaitingStart(line, before: before)
        }
        return true
    }

    /// Notes that the record of decided lines is ordered.
    func recordOrdered(_ lines: LineSet) {
        for range in lines.ranges { for line in range { move(line, on: .recordOrdered) } }
    }

    /// Moves an ordinary line whose first push leaves. The caller has checked that it is unsent, holds its subject, and
    /// takes its permit.
    func pushOrdinary(_ line: Int) {
        states[line].stage = .pushing(.inFlight)
        states[line].reservation = .permit
        states[line].holdsSubject = true
    }

    @inline(__always)
    func reserve(_ reserved: LineReservation, for line: Int) {
        let before = states[line]
        states[line].reservation = reserved
        countWaitingStart(line, before: before)
    }

    /// Chooses the usual or the suspect connections for a line.
    func setSuspect(_ isSuspect: Bool, for line: Int) {
        let before = states[line]
        if before.isSuspect == isSuspect { return }
        states[line].isSuspect = isSuspect
        countWaitingStart(line, before: before)
    }

    func setProbe(_ isProbe: Bool, for line: Int) { states[line].isProbe = isProbe }
    func setHoldsSubject(_ holds: Bool, for line: Int) { states[line].holdsSubject = holds }
    func countTry(_ line: Int) { states[line].tries = UInt8(clamping: Int(states[line].tries) + 1) }
    func countRepeat(_ line: Int) { states[line].repeats = UInt8(clamping: Int(states[line].repeats) + 1) }

    /// Updates the app's counts of starts that need room on its connections, after the state of a line has changed.
    @inline(__always)
    private func countWaitingStart(_ line: Int, before: LineState) {
        if head.event == .start { countStart(line, before: before) }
    }

    private func countStart(_ line: Int, before: LineState) {
        let after = states[line]
        if before.awaitsConnection == after.awaitsConnection, before.isSuspect == after.isSuspect { return }
        if before.awaitsConnection { app.countWaitingStarts(-1, isSuspect: before.isSuspect) }
        if after.awaitsConnection { app.countWaitingStarts(1, isSuspect: after.isSuspect) }
    }

    // MARK: Outcomes that are not written

    /// Number of lines that are decided and not written.
    var unwrittenLines: Int { otherOutcomes.reduce(accepted.count) { $0 + $1.lines.count } }

    func addAccepted(_ line: Int) { accepted.insert(line) }

    /// Adds a decided line. Lines with the same outcome share a record.
    func addOutcome(_ outcome: LineOutcome, for line: Int) {
        for index in otherOutcomes.indices.reversed() where otherOutcomes[index].outcome == outcome {
            otherOutcomes[index].lines.insert(line)
            return
        }
        var lines = LineBitmap()
        lines.insert(line)
        otherOutcomes.append((outcome, lines))
    }

    /// Takes out all lines that wait to be written.
    func takeOutcomes() -> (accepted: LineBitmap, others: [(outcome: LineOutcome, lines: LineBitmap)]) {
        defer {
            accepted.removeAll()
            otherOutcomes.removeAll(keepingCapacity: true)
        }
        return (accepted, otherOutcomes)
    }

    /// Adds lines again whose record may not be written yet.
    func putBackOutcome(_ outcome: LineOutcome, of lines: LineBitmap) {
        otherOutcomes.append((outcome, lines))
    }

    // MARK: Order of lines

    /// Whether its lines need only a permit, capacity of the connections and a free subject. Starts also need an
    /// intent, and jobs from a tier may have a duplicate.
    var isPlain: Bool { head.event != .start && originLines == nil }

    /// Whether it is part of an update to a whole group that the next update replaces.
    var isPartOfPass: Bool { isPlain && head.event == .update && head.scope == .group && head.isConflatable }

    /// Lets the pass continue ahead of earlier sheets of the same update.
    func setContinuesPass(_ continues: Bool) { continuesPass = continues }

    /// Lets the pass continue at a line. The lines before it come last.
    func continuePass(at line: Int) {
        continuesPass = true
        (cursor, passedOver) = (line, line)
    }

    /// Returns to the lines that were passed over.
    func returnToPassedOverLines() {
        continuesPass = false
        (cursor, passedOver) = (0, 0)
    }

    func isUnsent(_ line: Int) -> Bool { states[line].stage == .unsent }
}
