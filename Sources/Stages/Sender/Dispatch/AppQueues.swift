internal import Containers
internal import Lifecycle
package import LiveActivity

/// An app in one environment.
package struct AppEnvironment: Hashable, Sendable {
    package let app: String
    package let environment: Environment

    package init(app: String, environment: Environment) {
        self.app = app
        self.environment = environment
    }
}

/// A line that waits outside the order of its sheet.
struct QueuedLine {
    let sheet: Sheet
    let line: Int

    /// Whether the line still waits for a turn.
    var isQueued: Bool { sheet.isInHand && sheet.states[line].stage.isQueued }
}

/// The work of one app in one environment. Each has separate queues, so that trouble of one app does not
/// affect another.
package final class AppQueues {
    package let name: AppEnvironment
    let number: UInt64
    private(set) var urgent = LaneRotation()
    private(set) var usual = LaneRotation()
    private var requeued = FIFOQueue<QueuedLine>()
    /// Lines that wait for the suspect connections.
    private var suspects = FIFOQueue<QueuedLine>()
    /// Time when a line last left `suspects`, or when the first one came.
    private var suspectsMovedAt = Instant(nanoseconds: 0)
    /// Number of queued sheets that have nothing left to send.
    private var sheetsOver = 0
    /// Number of urgent pushes in a row.
    private var urgentInSuccession = 0
    /// Pushes that its connections still take; nil if they were not asked in this turn.
    @safe @exclusivity(unchecked) private var capacity: Int?
    @safe @exclusivity(unchecked) private var suspectCapacity: Int?
    @safe @exclusivity(unchecked) var permits = 0
    /// Starts whose intent is written or being written and that have not left. They need room on the
    /// connections.
    private var waitingStarts = 0
    private var suspectWaitingStarts = 0
    /// The time until which one sheet of a lane waits in the short tier to probe an open breaker. The next
    /// owner of the lane reads that sheet too.
    private var scoutReturns: [Int32: Instant] = [:]
    @safe @exclusivity(unchecked) var breaker = Breaker()
    var lastUsed = Instant(nanoseconds: 0)
    /// Sheets in hand.
    @safe @exclusivity(unchecked) var sheets = 0
    @safe @exclusivity(unchecked) var pushesInFlight = 0
    @safe @exclusivity(unchecked) var silence = AppSilence()

    /// Limit of an app's lines in one turn.
    static let turnLinesMax = 64
    /// At least one of this many pushes is of the usual class while that class has any.
    private static let usualEvery = 8
    /// Limit of lines that wait for the suspect connections. Further lines move to a tier, because the sheets
    /// of waiting lines hold up their partitions.
    static let suspectsMax = 1_000

    init(_ name: AppEnvironment, number: UInt64) {
        self.name = name
        self.number = number
    }

    /// Sum of all counts, which is 0 if nothing is under way.
    var counts: Int { abs(permits) + abs(waitingStarts) + abs(suspectWaitingStarts) }

    var hasWork: Bool { !urgent.isEmpty || !usual.isEmpty || !requeued.isEmpty || !suspects.isEmpty }

    /// Notes that APNs has answered one of its pushes.
    func answered(at now: Instant) { silence.answered(at: now, isMoreInFlight: pushesInFlight > 0) }

    // MARK: Sheets

    func enqueue(_ sheet: Sheet, seed: UInt64) {
        sheet.isQueued = true
        if sheet.topic == .urgent {
            urgent.append(sheet, seed: seed)
        } else {
            usual.append(sheet, seed: seed)
        }
    }

    /// The next sheet: urgent sheets first, but the usual class gets its share.
    var next: (sheet: Sheet, isUsual: Bool)? {
        if let sheet = usual.first, urgent.isEmpty || urgentInSuccession + 1 >= Self.usualEvery {
            return (sheet, true)
        }
        return urgent.first.map { ($0, false) }
    }

    /// Moves the next sheet behind the others of its lane, because lines of it were passed over.
    func putBack(isUsual: Bool) {
        if isUsual { usual.putBackFirst() } else { urgent.putBackFirst() }
    }

    func dequeue(isUsual: Bool) {
        let sheet = isUsual ? usual.first : urgent.first
        sheet?.isQueued = false
        if isUsual { usual.removeFirst() } else { urgent.removeFirst() }
    }

    /// Counts pushes of the next sheet for the share of its class.
    func pushed(_ count: Int, isUsual: Bool) {
        urgentInSuccession = isUsual ? 0 : urgentInSuccession + count
    }

    /// Returns the number of lines that may leave before the other class has its turn.
    func linesBeforeOtherClass(isUsual: Bool) -> Int {
        if isUsual { return urgent.isEmpty ? .max : 1 }
        return usual.isEmpty ? .max : max(1, Self.usualEvery - 1 - urgentInSuccession)
    }

    /// Marks the passes of sheets that a newer state overtakes. The caller drops them afterwards.
    func interrupt(_ overtaken: [Sheet], seed: UInt64) { usual.interrupt(overtaken, seed: seed) }

    /// Counts a queued sheet whose lines are all decided or abandoned. Such sheets are removed when they are
    /// the majority.
    func sheetIsOver() {
        sheetsOver += 1
        guard sheetsOver > 16, sheetsOver * 2 > urgent.count + usual.count else { return }
        sheetsOver = 0
        for path in [\AppQueues.urgent, \AppQueues.usual] {
            self[keyPath: path].removeAll { sheet in
                if !sheet.isOver { return false }
                sheet.isQueued = false
                return true
            }
        }
    }

    // MARK: Single lines

    /// Queues a line outside the order of its sheet.
    func requeue(_ line: QueuedLine) {
        line.sheet.move(line.line, on: .requeued)
        requeued.append(line)
    }

    func takeRequeued() -> QueuedLine? {
        guard let line = requeued.first else { return nil }
        requeued.removeFirst()
        return line
    }

    /// Whether no more lines may wait for the suspect connections.
    var areSuspectsFull: Bool { suspects.count >= Self.suspectsMax }

    /// Queues a line for the suspect connections.
    func setAside(_ line: QueuedLine, at now: Instant) {
        if suspects.isEmpty { suspectsMovedAt = now }
        line.sheet.move(line.line, on: .requeued)
        suspects.append(line)
    }

    /// Returns the next line for the suspect connections, unless they are known to be full.
    func takeSuspect() -> QueuedLine? {
        guard (suspectCapacity ?? 1) > 0, let line = suspects.first else { return nil }
        suspects.removeFirst()
        return line
    }

    func putBackSuspect(_ line: QueuedLine) { suspects.append(line) }

    /// Time when a line last left the queue for the suspect connections.
    var lastSuspectLeft: Instant {
        get { suspectsMovedAt }
        set { suspectsMovedAt = newValue }
    }

    /// Whether the suspect connections have taken nothing for some time.
    func areSuspectsStuck(at now: Instant) -> Bool {
        !suspects.isEmpty && now.milliseconds(since: suspectsMovedAt) >= AppSilence.shortMilliseconds
    }

    /// Returns all lines that wait for the suspect connections. The caller puts back those that stay.
    func takeAllSuspects() -> FIFOQueue<QueuedLine> {
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

    func countWaitingStarts(_ count: Int, isSuspect: Bool) {
        if isSuspect { suspectWaitingStarts += count } else { waitingStarts += count }
    }

    // MARK: Open breaker

    /// Returns the tier in which a sheet waits while the breaker is open. One sheet of each lane comes back
    /// soon to probe the setting, and the others come back later.
    func tierWhilePaused(lane: Int32, at now: Instant) -> LaterTier {
        guard now >= scoutReturns[lane] ?? now else { return .minutes2 }
        scoutReturns[lane] = now.advanced(byMilliseconds: LaterTier.seconds5.waitMilliseconds)
        return .seconds5
    }
}
