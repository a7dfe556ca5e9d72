internal import Containers

/// The queue of an app's sheets of one class. The lanes take turns, a few sheets each, and sheets of one lane keep
/// their order.
///
/// Kafka delivers the records of one lane after those of another. If they left in that order, the last lane would wait
/// for all others, and its phones would never be reached if updates come faster than they are pushed. So the lanes take
/// turns. For the same reason an update begins in a lane where it interrupted the update before it
/// (`InterruptedPasses`).
///
/// A turn is several sheets, so that their receipts are written in succession and share a request. A receipt
/// alone is a request and a sync of the broker's disk.
struct LaneRotation {
    /// The waiting sheets, by the number of their lane.
    private var sheets: [Int32: FIFOQueue<Sheet>] = [:]
    private var passes = InterruptedPasses()
    /// Numbers of the lanes that have sheets, in order.
    private var lanes: [Int32] = []
    /// The lane whose turn it is. If it has no sheets, the next lane with sheets has the turn. If all sheets are
    /// dropped, the number stays, so that lanes that had no turn yet come before lanes that had one.
    private var currentLane: Int32 = 0
    /// Number of sheets that the current lane has had in this turn.
    private var sheetsHadInTurn = 0
    /// Number of waiting sheets.
    private(set) var count = 0

    /// Limit of sheets in a turn.
    private static let sheetsInTurn = 4

    var isEmpty: Bool { count == 0 }
    /// The next sheet.
    var first: Sheet? { firstLane.flatMap { sheets[$0]?.first } }
    private var firstLane: Int32? { lanes.first { $0 >= currentLane } ?? lanes.first }

    /// Adds a sheet behind the others of its lane, or before sheets of its update if it continues an interrupted pass.
    ///
    /// - Parameter seed: of the fingerprints of subjects.
    mutating func append(_ sheet: Sheet, seed: UInt64) {
        let lane = sheet.lane.number
        if sheets[lane, default: FIFOQueue()].isEmpty {
            lanes.insert(lane, at: lanes.firstIndex { $0 > lane } ?? lanes.endIndex)
        }
        sheets[lane, default: FIFOQueue()].append(sheet)
        count += 1
        let continuesPass = passes.continuePass(with: sheet, seed: seed)
        if continuesPass { sheets[lane]?.moveLastBeforeYieldingSheets() }
    }

    /// Notes where a newer state interrupts the passes of sheets. The caller drops the sheets afterwards.
    mutating func interruptPasses(of interrupted: [Sheet], seed: UInt64) {
        passes.interrupt(interrupted, seed: seed)
    }

    /// Removes the first sheet. It counts for its lane's turn, unless it was dropped before any of its lines was sent.
    mutating func removeFirst() {
        guard let lane = firstLane, let sheet = first else { return }
        sheets[lane]?.removeFirst()
        count -= 1
        let isEmpty = sheets[lane]?.isEmpty != false
        if isEmpty { lanes.removeAll { $0 == lane } }
        if lane != currentLane { (currentLane, sheetsHadInTurn) = (lane, 0) }
        if sheet.hasUsedTurn { sheetsHadInTurn += 1 }
        if isEmpty || sheetsHadInTurn >= Self.sheetsInTurn { (currentLane, sheetsHadInTurn) = (lane + 1, 0) }
    }

    /// Moves the first sheet behind the others of its lane, because lines of it were passed over.
    mutating func putBackFirst() {
        guard let sheet = first else { return }
        sheet.returnToPassedOverLines()
        sheets[sheet.lane.number]?.append(sheet)
        count += 1
        removeFirst()
    }

    mutating func removeAll(where isOut: (Sheet) -> Bool) {
        for lane in lanes { sheets[lane]?.removeAll(where: isOut) }
        lanes.removeAll { sheets[$0]?.isEmpty != false }
        count = lanes.reduce(0) { $0 + (sheets[$1]?.count ?? 0) }
    }
}
