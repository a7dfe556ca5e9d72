internal import Lifecycle

/// The time and the rows that one lane query may read. Each lane gets an equal share of the rest, so that every
/// lane of a long list makes progress. It is confined to a reading thread.
final class QueryBudget {
    /// The rows between two looks at the clock.
    private static let rowsBetweenChecks = 64

    private let clock: () -> Instant
    private let end: Instant
    /// The rows that were left for all lanes when the current lane began.
    private var remainingRows: Int
    // The share of the current lane, and the rows that it has used.
    private var laneEnd: Instant
    private var laneRowsMax = 0
    private var laneRows = 0
    private var rowsUntilCheck = 0
    private var isOverTime = false

    /// - Parameter clock: Returns the time.
    init(
        milliseconds: Int = QueryLimits.readMilliseconds, rows: Int = QueryLimits.rowsMax,
        clock: @escaping () -> Instant = { .now() }
    ) {
        self.clock = clock
        remainingRows = rows
        end = clock().advanced(byMilliseconds: milliseconds)
        laneEnd = end
    }

    /// Begins the share of the next lane.
    ///
    /// - Parameter remainingLanes: The number of lanes that are not read yet, with the next one.
    func beginLane(remainingLanes: Int) {
        let now = clock()
        let share = max(0, end.milliseconds(since: now)) / max(1, remainingLanes)
        laneEnd = now.advanced(byMilliseconds: share)
        remainingRows -= laneRows
        laneRows = 0
        laneRowsMax = remainingRows / max(1, remainingLanes)
        isOverTime = now >= end
        rowsUntilCheck = 0
    }

    /// Counts a row. Returns false if the share of the lane is used up.
    func countRow() -> Bool {
        laneRows += 1
        if rowsUntilCheck == 0 {
            rowsUntilCheck = Self.rowsBetweenChecks
            isOverTime = isTimeUp
        }
        rowsUntilCheck -= 1
        return !isOverTime && laneRows <= laneRowsMax
    }

    /// Counts a row, or throws if the share of the lane is used up.
    func spendRow() throws(QueryLimit) {
        if !countRow() { throw .time }
    }

    /// Whether the lane's share of the time is used up.
    var isTimeUp: Bool { clock() >= laneEnd }
}
