internal import Containers
internal import Identifiers
internal import Lifecycle

/// The state of one app in one environment: its queues, its use of the connections to APNs, its breaker and its
/// silence. Each app has its own, so that trouble of one app does not affect another.
///
/// Single lines wait outside the order of their sheets: to be dispatched again, or for the suspect connections, which
/// push to tokens that APNs refused last.
///
/// It is a class, because its sheets refer to it. It is used on the thread of its loop only.
package final class AppQueues {
    package let name: AppEnvironment
    /// Number of the app in this loop. It keeps the subjects of apps apart.
    let number: UInt64
    /// Time of its last turn.
    var lastUsed = Instant(nanoseconds: 0)

    // MARK: Sheets

    /// The sheets that wait to be pushed.
    var sheets = SheetQueues()
    /// Number of sheets in hand.
    @safe @exclusivity(unchecked) var sheetCount = 0

    // MARK: Single lines

    /// Lines that wait to be dispatched again.
    private var requeued = FIFOQueue<QueuedLine>()
    /// Lines that wait for the suspect connections.
    private var suspects = FIFOQueue<QueuedLine>()
    /// Time when a line last left `suspects`, or when the first one came.
    var suspectsMovedAt = Instant(nanoseconds: 0)

    // MARK: Connections

    /// Number of pushes that its usual connections still take; nil if they were not asked in this step.
    @safe @exclusivity(unchecked) private var capacity: Int?
    /// Number of pushes that its suspect connections still take; nil if they were not asked in this step.
    @safe @exclusivity(unchecked) private var suspectCapacity: Int?
    /// Number of starts whose intent is stored or being stored and that have not left. They need room on the usual
    /// connections.
    private var waitingStarts = 0
    /// Number of such starts that need room on the suspect connections.
    private var suspectWaitingStarts = 0
    /// Number of permits that its lines hold.
    @safe @exclusivity(unchecked) var permits = 0
    @safe @exclusivity(unchecked) var pushesInFlight = 0

    // MARK: Answers of APNs

    @safe @exclusivity(unchecked) var breaker = Breaker()
    @safe @exclusivity(unchecked) var unproven = UnprovenTokens()
    @safe @exclusivity(unchecked) var silence = AppSilence()
    /// Time of the last accepted push, for `DeadTokenRule`.
    @safe @exclusivity(unchecked) private var acceptedAt: Instant?
    /// By lane, the time at which its scout comes back from the short tier: a sheet that probes an open breaker.
    private var scoutReturns: [Int32: Instant] = [:]

    // MARK: Limits

    /// Limit of an app's lines in one turn.
    static let turnLinesMax = 64
    /// Limit of lines that wait for the suspect connections. Further lines move to a tier, because the sheets
    /// of waiting lines hold up their partitions.
    static let suspectLinesMax = 1_000

    init(_ name: AppEnvironment, number: UInt64) {
        self.name = name
        self.number = number
    }

    /// Sum of permits and waiting starts, which is 0 if nothing is under way. A negative number is an error and must
    /// not cancel out another, so absolute values are added.
    var reservationCount: Int { abs(permits) + abs(waitingStarts) + abs(suspectWaitingStarts) }

    /// Whether sheets or single lines wait.
    var hasWork: Bool { !sheets.isEmpty || !requeued.isEmpty || !suspects.isEmpty }

    /// Notes that APNs has answered one of its pushes. The push no longer counts in `pushesInFlight`.
    func noteAnswer(at now: Instant) { silence.answered(at: now, isMoreInFlight: pushesInFlight > 0) }

    /// Notes that APNs has accepted one of its pushes in time.
    func noteAccepted(at now: Instant) {
        breaker.countGoodAnswer(at: now)
        acceptedAt = now
    }

    /// Returns the time since a push was accepted; nil if none ever was.
    func millisecondsSinceAccepted(at now: Instant) -> Int? { acceptedAt.map { now.milliseconds(since: $0) } }

    // MARK: Single lines

    /// Queues a line outside the order of its sheet.
    func requeue(_ line: QueuedLine) {
        line.sheet.move(line.line, on: .requeued)
        requeued.append(line)
    }

    /// Number of lines that wait to be dispatched again.
    var requeuedCount: Int { requeued.count }

    /// Removes the next line that waits to be dispatched again, and returns it.
    func takeRequeuedLine() -> QueuedLine? {
        guard let line = requeued.first else { return nil }
        requeued.removeFirst()
        return line
    }

    /// Whether no more lines may wait for the suspect connections.
    var isSuspectQueueFull: Bool { suspects.count >= Self.suspectLinesMax }

    /// Queues a line for the suspect connections.
    func queueForSuspectConnections(_ line: QueuedLine, at now: Instant) {
        if suspects.isEmpty { suspectsMovedAt = now }
        line.sheet.move(line.line, on: .requeued)
        suspects.append(line)
    }

    /// Removes the next line for the suspect connections, and returns it; nil if no line waits, or if these connections
    /// are known to be full.
    func takeSuspectLine() -> QueuedLine? {
        guard (suspectCapacity ?? 1) > 0, let line = suspects.first else { return nil }
        suspects.removeFirst()
        return line
    }

    /// Queues a line again that could not leave. It goes behind the others.
    func putBackSuspectLine(_ line: QueuedLine) { suspects.append(line) }

    /// Whether the suspect connections have taken nothing for some time.
    func isSuspectQueueStuck(at now: Instant) -> Bool {
        !suspects.isEmpty && now.milliseconds(since: suspectsMovedAt) >= AppSilence.shortMilliseconds
    }

    /// Removes all lines that wait for the suspect connections, and returns them. The caller puts back those that stay.
    func takeAllSuspectLines() -> FIFOQueue<QueuedLine> {
        let lines = suspects
        suspects = FIFOQueue()
        return lines
    }

    // MARK: Connections

    /// Forgets how many pushes the connections take, so that they are asked again.
    func forgetCapacity() { (capacity, suspectCapacity) = (nil, nil) }

    /// Returns how many pushes the connections still take; nil if they were not asked in this step.
    func knownCapacity(isSuspect: Bool) -> Int? { isSuspect ? suspectCapacity : capacity }

    func setCapacity(_ count: Int, isSuspect: Bool) {
        if isSuspect { suspectCapacity = count } else { capacity = count }
    }

    /// Counts pushes that were ordered in this step, because the connections learn of them only later.
    func useCapacity(_ count: Int, isSuspect: Bool) {
        if isSuspect { suspectCapacity? -= count } else { capacity? -= count }
    }

    /// Returns the number of waiting starts.
    func waitingStarts(isSuspect: Bool) -> Int { isSuspect ? suspectWaitingStarts : waitingStarts }

    /// Changes the number of waiting starts.
    func countWaitingStarts(_ change: Int, isSuspect: Bool) {
        if isSuspect { suspectWaitingStarts += change } else { waitingStarts += change }
    }

    // MARK: Open breaker

    /// Chooses the tier in which a sheet waits while the breaker is open. One sheet of each lane comes back soon as the
    /// scout, and the others come back later. A scout for each lane is needed, because the lane may have another owner
    /// when the breaker closes.
    func takeTierWhilePaused(lane: Int32, at now: Instant) -> LaterTier {
        guard now >= scoutReturns[lane] ?? now else { return .minutes2 }
        scoutReturns[lane] = now.advanced(byMilliseconds: LaterTier.seconds5.waitMilliseconds)
        return .seconds5
    }
}
