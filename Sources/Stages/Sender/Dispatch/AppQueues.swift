internal import APNs
internal import Containers
internal import Identifiers
internal import Lifecycle

/// The state of one app in one environment: its queues, its use of the connections to APNs, its breaker and its
/// silence. Each app has its own, so that trouble of one app does not affect another.
///
/// Most lines wait in the order of their sheets (`SheetQueues`). Single lines wait outside this order: to be dispatched
/// again, or for the unproven or the suspect connections (`PushConnections`).
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
    /// Lines that wait for the unproven and for the suspect connections. None waits here for the usual ones.
    @safe @exclusivity(unchecked) var waitingLines = ByConnections(repeating: ConnectionQueue())

    // MARK: Connections

    /// Number of pushes that its connections still take in this step; nil if they were not asked in this step. Pushes
    /// that were ordered in the step are subtracted, because the connections learn of them only later.
    @safe @exclusivity(unchecked) var capacity = ByConnections<Int?>(repeating: nil)
    /// Number of waiting starts: their intent is stored or being stored, and they have not left. They need room on
    /// these connections.
    @safe @exclusivity(unchecked) var waitingStarts = ByConnections(repeating: 0)
    /// Number of permits that its lines hold.
    @safe @exclusivity(unchecked) var permits = 0
    @safe @exclusivity(unchecked) var pushesInFlight = 0

    // MARK: Answers of APNs

    @safe @exclusivity(unchecked) var breaker = Breaker()
    @safe @exclusivity(unchecked) var unproven = UnprovenTokens()
    @safe @exclusivity(unchecked) var silence = AppSilence()
    /// Time of the last accepted push, for `DeadTokenRule`.
    @safe @exclusivity(unchecked) private var acceptedAt: Instant?
    /// By lane, the time at which its scout comes back from the short tier. A scout is a sheet that comes back early,
    /// so that one of its pushes can probe the open breaker.
    private var scoutReturns: [Int32: Instant] = [:]

    // MARK: Limits

    /// Limit of an app's lines in one turn.
    static let turnLinesMax = 64

    init(_ name: AppEnvironment, number: UInt64) {
        self.name = name
        self.number = number
    }

    /// Sum of permits and waiting starts. Tests expect that it is 0 in the end. A negative number is a fault and must
    /// not cancel out another, so absolute values are added.
    var reservationCount: Int {
        abs(permits) + PushConnections.allCases.reduce(0) { $0 + abs(waitingStarts[$1]) }
    }

    /// Whether sheets or single lines wait.
    var hasWork: Bool {
        !sheets.isEmpty || !requeued.isEmpty || !waitingLines[.unproven].isEmpty
            || !waitingLines[.suspect].isEmpty
    }

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

    /// Subtracts pushes that were ordered in this step from the capacity, if it is known.
    func useCapacity(_ count: Int, of connections: PushConnections) { capacity[connections]? -= count }

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
