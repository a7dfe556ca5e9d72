package import APNs
package import Jobs
internal import Lifecycle
internal import Payloads
internal import Sends

/// A sheet in hand: a record with one request and up to 1,000 lines, and the progress of its lines. A line is one job.
/// Sheets are read as units, but each line is decided separately.
///
/// It is a class, because many tables refer to it and its lines change with every push. It is used on the thread of its
/// loop only.
///
/// Access to properties that every push needs several times is unchecked, because the checks cost a sixth of the plan's
/// time. This is safe: only one thread uses them, and nothing that is called during an access touches them.
package final class Sheet {
    package let topic: JobTopic
    /// Its offset in the topic's partition of `lane`.
    package let offset: Int64
    package let head: SheetHead
    /// The fields of the lines, as ranges of bytes in `content.to` (the record's header `to`).
    package let index: SheetIndex
    /// The lines whose tokens APNs had never accepted when the sheet was written.
    package let unprovenLines: LineSet
    @safe @exclusivity(unchecked) package private(set) var content: SheetContent
    /// A strong reference, because access to an unowned one costs more than all other bookkeeping of a push. A lane
    /// refers to sheets that have not begun, and drops them at the latest when it is given up. So no cycle of
    /// references stays.
    let lane: Lane
    package let app: AppQueues
    /// Fingerprint of the group, if the send names one.
    let group: Fingerprint?
    /// The request without token and id; nil until the connections are first asked about the sheet.
    @safe @exclusivity(unchecked) package var template: PushTemplate?

    // MARK: Origin

    /// The position where its jobs were first stored: in this record, or in an earlier one if they waited in a tier.
    package let originPosition: JobPosition
    /// The line numbers of its jobs at that position; nil if the sheet is still there.
    let originLines: [Int]?
    /// Number of times that its jobs were stored: 1, and one more for each tier.
    package let attempt: Int
    /// Number of tries of its jobs before this attempt: pushes that count against `head.triesMax`.
    let earlierTries: Int
    /// The reason for which its jobs were moved to a tier.
    let reason: String?
    /// The time at which its jobs were first stored, in milliseconds since 1970. After a tier only a lower bound is
    /// known: the time at which the send was accepted.
    let writtenAt: Int64

    // MARK: Lines

    /// The states of the lines, by their numbers.
    @safe @exclusivity(unchecked) private(set) var states: [LineState]
    /// Number of lines that are not done.
    @safe @exclusivity(unchecked) private(set) var unfinishedLines: Int
    /// Number of lines that are not decided.
    @safe @exclusivity(unchecked) private(set) var undecidedLines: Int
    /// The subject of each line: the activity or start token that it pushes to. Only one push at a time may be under
    /// way for a subject. The array is empty until `ensureSubjects`, which comes before the first line leaves.
    @safe @exclusivity(unchecked) private(set) var subjects: [UInt64] = []
    /// The activity of each line, for sends to a recipient's scope; otherwise empty.
    private(set) var activities: [Fingerprint] = []
    /// The line that is dispatched next. The lines before it were dispatched, except those that were passed over.
    @safe @exclusivity(unchecked) var cursor = 0
    /// Whether the sheet continues an interrupted pass (`InterruptedPasses`). An earlier update to the group was on its
    /// way through the lane when the sheet's update replaced it. The sheet has phones that the earlier update has not
    /// reached, so it goes before the other sheets of its update, whose phones have received at least the earlier one.
    private(set) var continuesPass = false
    /// Number of lines at the beginning of the sheet that were passed over, because their phones have received the
    /// interrupted update. They leave last.
    private(set) var passedOverCount = 0

    /// The outcomes that are not written yet.
    @safe @exclusivity(unchecked) var unwritten = UnwrittenOutcomes()

    // MARK: Progress in the plan

    /// Its index in `SheetsInHand`; -1 while it is not in hand.
    package internal(set) var slot = -1
    /// Its index in `GroupSheets`, which alone changes it; -1 if it is not in the list.
    var indexInGroup = -1
    /// Whether an earlier owner may have begun it, or a duplicate of it may exist, so that the ledger of receipts
    /// (`ReceiptLedger`) may show that its jobs are done.
    var needsLedger = false
    /// The revision of the ledger with which its lines were compared.
    var comparedLedgerRevision = 0
    /// Whether the connections were asked about it and can push it.
    var isSendable = false
    /// Whether a push or an intent of it was ordered. Only such a sheet counts among the few sheets that a lane sends
    /// in its turn (`LaneRotation`).
    var hasUsedTurn = false
    /// Whether it is in the queue of its app.
    var isQueued = false
    /// Whether it waits in `OutcomeRecords` for the records of its outcomes to be written.
    var awaitsRecord = false
    /// Whether a line of it is left to the next owner of the lane. Then its offset is not finished here.
    var isLeftToNextOwner = false
    /// The first half of the ids of its pushes; 0 until the first one is made.
    @safe @exclusivity(unchecked) private var pushIDHigh: UInt64 = 0

    /// Approximate memory of the state of a line, in bytes.
    private static let byteCountPerLine = 48
    /// Approximate memory of a sheet without its content and lines, in bytes.
    private static let byteCountOfRest = 1_024

    init(
        _ record: SheetRecord, from topic: JobTopic, at offset: Int64, in lane: Lane, of app: AppQueues,
        group: Fingerprint?
    ) {
        self.topic = topic
        self.offset = offset
        self.lane = lane
        self.app = app
        self.group = group
        head = record.head
        index = record.index
        content = record.content
        unprovenLines = record.unprovenLines
        if let origin = record.origin {
            originPosition = JobPosition(
                topic: origin.topic, partition: origin.partition, offset: origin.offset)
            var lines: [Int] = []
            origin.lines.forEachLine { lines.append($0) }
            originLines = lines
            attempt = origin.attempt
            earlierTries = origin.earlierTries
            reason = origin.reason
            writtenAt = record.head.acceptedAt
        } else {
            originPosition = JobPosition(topic: topic.word, partition: lane.number, offset: offset)
            originLines = nil
            attempt = 1
            earlierTries = 0
            reason = nil
            writtenAt = record.writtenAt ?? record.head.acceptedAt
        }
        states = Array(repeating: LineState(), count: record.index.lines.count)
        unfinishedLines = states.count
        undecidedLines = states.count
        unprovenLines.forEachLine { states[$0].isUnproven = true }
    }

    package var lineCount: Int { states.count }
    var isInHand: Bool { slot >= 0 }
    /// Whether no line of the sheet is dispatched any more: all lines are decided, or left to the next owner.
    var isOver: Bool { undecidedLines == 0 || isLeftToNextOwner }

    /// Approximate memory of the sheet, in bytes.
    var memoryByteCount: Int {
        content.byteCount + states.count * Self.byteCountPerLine + Self.byteCountOfRest
    }

    /// Frees the content of a sheet that is no longer in hand.
    func freeContent() {
        template = nil
        content = SheetContent(body: [], apns: [], flotilla: [], to: [])
    }

    // MARK: Identity of lines

    /// Number of bits of a push's tag that hold the line. The slot of the sheet is above them.
    private static let lineBitCount: UInt64 = 16

    /// Returns the tag by which the connections report the end of a line's push.
    package func tag(of line: Int) -> UInt64 { UInt64(slot) << Self.lineBitCount | UInt64(line) }

    /// Returns the slot and the line in a tag.
    static func slotAndLine(ofTag tag: UInt64) -> (slot: Int, line: Int) {
        (Int(tag >> lineBitCount), Int(tag & ((1 << lineBitCount) - 1)))
    }

    /// Returns the `apns-id` of the pushes of a line. It depends only on the position of the job and the attempt. So if
    /// another owner repeats a push, both pushes have the same id, and the duplicate can be found. The last two groups
    /// of the id, of 16 and 48 bits, are the attempt and the line.
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

    /// Computes the subjects, if this was not done before.
    @inline(__always)
    func ensureSubjects(seed: UInt64) { if subjects.isEmpty { subjects = makeSubjects(seed: seed) } }

    /// Computes the activities, for the versions of a send to a recipient's scope.
    func computeActivities(seed: UInt64) { activities = makeActivities(seed: seed) }
}

// MARK: Stages of lines

extension Sheet {
    /// Moves a line to its next stage, and updates the counts. Returns false if the event has no effect in the line's
    /// stage.
    ///
    /// The event `finished` also clears the line's reservation. So a caller that gives the permit back reads the
    /// reservation first.
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

    /// Moves an ordinary line (`LineState.isOrdinary`) of a plain sheet when its first push leaves. It does the same as
    /// `move`, `reserve` and `setHoldsSubject`, in fewer steps. The caller has checked that the line is unsent. The
    /// caller also has `LineClaims` hold the subject and take the permit.
    func pushOrdinary(_ line: Int) {
        states[line].stage = .pushing(.inFlight)
        states[line].reservation = .permit
        states[line].holdsSubject = true
    }

    /// Sets the reservation of a line.
    @inline(__always)
    func reserve(_ reserved: LineReservation, for line: Int) {
        let before = states[line]
        states[line].reservation = reserved
        countWaitingStart(line, before: before)
    }

    /// Sets the connections that a line uses or needs.
    func setConnections(_ connections: PushConnections, for line: Int) {
        let before = states[line]
        if before.connections == connections { return }
        states[line].connections = connections
        countWaitingStart(line, before: before)
    }

    func setProbe(_ isProbe: Bool, for line: Int) { states[line].isProbe = isProbe }
    func setHoldsSubject(_ holds: Bool, for line: Int) { states[line].holdsSubject = holds }
    /// Number of tries of a line's job, in all attempts.
    func tries(of line: Int) -> Int { earlierTries + Int(states[line].tries) }
    func countTry(_ line: Int) { states[line].tries = UInt8(clamping: Int(states[line].tries) + 1) }
    func countPause(_ line: Int) {
        states[line].pausesHere = UInt8(clamping: Int(states[line].pausesHere) + 1)
    }

    /// Updates the app's counts of starts that need room on its connections, after the state of a line has changed.
    @inline(__always)
    private func countWaitingStart(_ line: Int, before: LineState) {
        if head.event == .start { recountStart(line, before: before) }
    }

    /// Does the work of `countWaitingStart` for a start. It is a separate function, so that only the check above is
    /// inlined.
    private func recountStart(_ line: Int, before: LineState) {
        let after = states[line]
        if before.isWaitingStart == after.isWaitingStart, before.connections == after.connections {
            return
        }
        if before.isWaitingStart { app.waitingStarts[before.connections] -= 1 }
        if after.isWaitingStart { app.waitingStarts[after.connections] += 1 }
    }

    // MARK: Order of lines

    /// Whether its lines need only a permit, room on the connections and a free subject to leave. Starts also need an
    /// intent, and jobs from a tier may have a duplicate.
    var isPlain: Bool { head.event != .start && originLines == nil }

    /// Whether it is part of a pass that a newer update can interrupt: of an update to a whole group that may be
    /// replaced.
    var isPartOfPass: Bool { isPlain && head.event == .update && head.scope == .group && head.isConflatable }

    /// Sets whether the sheet goes ahead of earlier sheets of its update.
    func setContinuesPass(_ continues: Bool) { continuesPass = continues }

    /// Lets the sheet continue an interrupted pass at a line. The lines before it come last.
    func continuePass(at line: Int) {
        continuesPass = true
        (cursor, passedOverCount) = (line, line)
    }

    /// Moves the cursor back to the lines that were passed over.
    func returnToPassedOverLines() {
        continuesPass = false
        (cursor, passedOverCount) = (0, 0)
    }

    func isUnsent(_ line: Int) -> Bool { states[line].stage == .unsent }
}
