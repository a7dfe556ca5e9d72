internal import Containers
internal import Identifiers
internal import Lifecycle

/// The queues of one app in one environment. Each has separate queues, so that trouble of one app does not affect
/// another.
///
/// Sheets wait in the queue of their class. Single lines wait outside the order of their sheets: to be tried again, or
/// for the suspect connections, which push to tokens that APNs refused last.
package final class AppQueues {
    package let name: AppEnvironment
    /// Number of the app in this process. It keeps the subjects of apps apart.
    let number: UInt64

    private var urgent = LaneRotation()
    private var normal = LaneRotation()
    /// Number of urgent pushes since the last normal one.
    private var urgentInSuccession = 0
    /// Number of queued sheets that have no more lines to send.
    private var sheetsOver = 0

    private var requeued = FIFOQueue<QueuedLine>()
    /// Lines that wait for the suspect connections.
    private var suspects = FIFOQueue<QueuedLine>()
    /// Time when a line last left `suspects`, or when the first one came.
    var suspectsMovedAt = Instant(nanoseconds: 0)

    /// Number of pushes that its connections still take; nil if they were not asked in this turn.
    @safe @exclusivity(unchecked) private var capacity: Int?
    @safe @exclusivity(unchecked) private var suspectCapacity: Int?
    @safe @exclusivity(unchecked) var permits = 0
    /// Starts whose intent is written or being written and that have not left. They need room on the
    /// connections.
    private var waitingStarts = 0
    private var suspectWaitingStarts = 0

    @safe @exclusivity(unchecked) var breaker = Breaker()
    @safe @exclusivity(unchecked) var unproven = UnprovenTokens()
    /// By lane, the time until which a scout waits in the short tier: a sheet that comes back early to probe an open
    /// breaker.
    private var scoutReturns: [Int32: Instant] = [:]
    @safe @exclusivity(unchecked) var silence = AppSilence()
    var lastUsed = Instant(nanoseconds: 0)
    /// Number of sheets in hand.
    @safe @exclusivity(unchecked) var sheetCount = 0
    @safe @exclusivity(unchecked) var pushesInFlight = 0

    /// Limit of an app's lines in one turn.
    static let turnLinesMax = 64
    /// At least one of this many pushes is a normal one while normal sheets wait.
    private static let pushesPerNormalPush = 8
    /// Limit of lines that wait for the suspect connections. Further lines move to a tier, because the sheets
    /// of waiting lines hold up their partitions.
    static let suspectLinesMax = 1_000
    /// Queued sheets that are over stay in their queues up to this number.
    private static let sheetsOverKept = 16

    init(_ name: AppEnvironment, number: UInt64) {
        self.name = name
        self.number = number
    }

    /// Sum of permits and waiting starts, which is 0 if nothing is under way.
    var reservationCount: Int { abs(permits) + abs(waitingStarts) + abs(suspectWaitingStarts) }

    var hasWork: Bool { !urgent.isEmpty || !normal.isEmpty || !requeued.isEmpty || !suspects.isEmpty }

    /// Notes that APNs has answered one of its pushes.
    func noteAnswer(at now: Instant) { silence.answered(at: now, isMoreInFlight: pushesInFlight > 0) }

    // MARK: Sheets

    private subscript(jobClass: JobClass) -> LaneRotation {
        _read {
            switch jobClass {
            case .urgent: yield urgent
            case .normal: yield normal
            }
        }
        _modify {
            switch jobClass {
            case .urgent: yield &urgent
            case .normal: yield &normal
            }
        }
    }

    func enqueue(_ sheet: Sheet, seed: UInt64) {
        sheet.isQueued = true
        self[sheet.topic.jobClass].append(sheet, seed: seed)
    }

    /// The next sheet: urgent sheets first, but normal sheets get their share.
    var next: (sheet: Sheet, jobClass: JobClass)? {
        let isNormalDue = urgent.isEmpty || urgentInSuccession + 1 >= Self.pushesPerNormalPush
        if isNormalDue, let sheet = normal.first { return (sheet, .normal) }
        return urgent.first.map { ($0, .urgent) }
    }

    /// Moves the cursor of the next sheet to an unsent line. At its end the sheet leaves the queue.
    /// Lines that were passed over come after the end. Then the sheet goes behind the others of its lane.
    ///
    /// - Returns: whether the sheet was at its end.
    func dequeueIfAtEnd(_ sheet: Sheet, of jobClass: JobClass) -> Bool {
        while sheet.cursor < sheet.lineCount, !sheet.isUnsent(sheet.cursor) { sheet.cursor += 1 }
        guard sheet.isOver || sheet.cursor == sheet.lineCount else { return false }
        if !sheet.isOver, sheet.passedOver > 0 {
            self[jobClass].putBackFirst()
        } else {
            sheet.isQueued = false
            self[jobClass].removeFirst()
        }
        return true
    }

    /// Counts pushes of the next sheet for the share of its class.
    func countPushes(_ count: Int, of jobClass: JobClass) {
        switch jobClass {
        case .urgent: urgentInSuccession += count
        case .normal: urgentInSuccession = 0
        }
    }

    /// Returns the number of lines that may leave before the other class has its turn.
    func linesBeforeOtherClass(than jobClass: JobClass) -> Int {
        switch jobClass {
        case .urgent: normal.isEmpty ? .max : max(1, Self.pushesPerNormalPush - 1 - urgentInSuccession)
        case .normal: urgent.isEmpty ? .max : 1
        }
    }

    /// Notes where a newer state interrupts the passes of sheets. The caller drops the sheets afterwards.
    func interruptPasses(of overtaken: [Sheet], seed: UInt64) {
        for jobClass in JobClass.allCases {
            let sheets = overtaken.filter { $0.topic.jobClass == jobClass }
            if !sheets.isEmpty { self[jobClass].interruptPasses(of: sheets, seed: seed) }
        }
    }

    /// Counts a queued sheet whose lines are all decided or abandoned. Such sheets are removed when they are
    /// the majority.
    func noteSheetIsOver() {
        sheetsOver += 1
        let areMajority = sheetsOver * 2 > urgent.count + normal.count
        guard sheetsOver > Self.sheetsOverKept, areMajority else { return }
        sheetsOver = 0
        urgent.removeAll(where: Self.leavesQueue)
        normal.removeAll(where: Self.leavesQueue)
    }

    private static func leavesQueue(_ sheet: Sheet) -> Bool {
        if sheet.isOver { sheet.isQueued = false }
        return sheet.isOver
    }

    // MARK: Single lines

    /// Queues a line outside the order of its sheet.
    func requeue(_ line: QueuedLine) {
        line.sheet.move(line.line, on: .requeued)
        requeued.append(line)
    }

    func takeRequeuedLine() -> QueuedLine? {
        guard let line = requeued.first else { return nil }
        requeued.removeFirst()
        return line
    }

    /// Whether no more lines may wait for the suspect connections.
    var isSuspectQueueFull: Bool { suspects.count >= Self.suspectLinesMax }

    /// Queues a line for the suspect connections.
    func setAside(_ line: QueuedLine, at now: Instant) {
        if suspects.isEmpty { suspectsMovedAt = now }
        line.sheet.move(line.line, on: .requeued)
        suspects.append(line)
    }

    /// Returns the next line for the suspect connections, unless they are known to be full.
    func takeSuspectLine() -> QueuedLine? {
        guard (suspectCapacity ?? 1) > 0, let line = suspects.first else { return nil }
        suspects.removeFirst()
        return line
    }

    func putBackSuspectLine(_ line: QueuedLine) { suspects.append(line) }

    /// Whether the suspect connections have taken nothing for some time.
    func isSuspectQueueStuck(at now: Instant) -> Bool {
        !suspects.isEmpty && now.milliseconds(since: suspectsMovedAt) >= AppSilence.shortMilliseconds
    }

    /// Returns all lines that wait for the suspect connections. The caller puts back those that stay.
    func takeAllSuspectLines() -> FIFOQueue<QueuedLine> {
        defer { suspects = FIFOQueue() }
        return suspects
    }

    // MARK: Connections

    /// Forgets how many pushes the connections take.
    func forgetCapacity() { (capacity, suspectCapacity) = (nil, nil) }

    func knownCapacity(isSuspect: Bool) -> Int? { isSuspect ? suspectCapacity : capacity }

    func setCapacity(_ count: Int, isSuspect: Bool) {
        if isSuspect { suspectCapacity = count } else { capacity = count }
    }

    /// Counts pushes that were ordered in this turn, because the connections learn of them only later.
    func useCapacity(_ count: Int, isSuspect: Bool) {
        if isSuspect { suspectCapacity? -= count } else { capacity? -= count }
    }

    func waitingStarts(isSuspect: Bool) -> Int { isSuspect ? suspectWaitingStarts : waitingStarts }

    /// Changes the number of waiting starts.
    func countWaitingStarts(_ change: Int, isSuspect: Bool) {
        if isSuspect { suspectWaitingStarts += change } else { waitingStarts += change }
    }

    // MARK: Open breaker

    /// Returns the tier in which a sheet waits while the breaker is open. One sheet of each lane comes back
    /// soon as the scout, and the others come back later. A scout for each lane is needed, because the lane may have
    /// another owner by then.
    func tierWhilePaused(lane: Int32, at now: Instant) -> LaterTier {
        guard now >= scoutReturns[lane] ?? now else { return .minutes2 }
        scoutReturns[lane] = now.advanced(byMilliseconds: LaterTier.seconds5.waitMilliseconds)
        return .seconds5
    }
}
