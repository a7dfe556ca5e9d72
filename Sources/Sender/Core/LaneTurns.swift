/// Sheets that wait to be pushed: the lanes take turns, some sheets each, and within a lane the first is first.
///
/// Kafka hands over one lane's records after the other's. In that order the last lane would wait for all others, and
/// where updates come sooner than a pass is done its phones would never be reached. For the same reason a group's
/// pass through a lane goes on with its next update where the newer state broke it off.
///
/// A turn is some sheets, so that their receipts come one behind the other and go to the cluster together: alone, each
/// is a request, and a sync of its disk.
struct LaneTurns {
    private var sheets: [Int32: Queue<Sheet>] = [:]
    private var passes = BrokenPasses()
    /// Those that have any, in their order.
    private var lanes: [Int32] = []
    /// The lane whose turn it is, or the next behind it that has any: also when all are dropped for what is newer, the
    /// lanes that wait are served before those that were.
    private var turn: Int32 = 0
    /// Sheets that it has had.
    private var hadInTurn = 0
    private(set) var count = 0

    private static let sheetsInTurn = 4

    var isEmpty: Bool { count == 0 }
    var first: Sheet? { firstLane.flatMap { sheets[$0]?.first } }
    private var firstLane: Int32? { lanes.first { $0 >= turn } ?? lanes.first }

    /// - Parameter seed: of subjects.
    mutating func append(_ sheet: Sheet, seed: UInt64) {
        let lane = sheet.lane.number
        if sheets[lane, default: Queue()].isEmpty {
            lanes.insert(lane, at: lanes.firstIndex { $0 > lane } ?? lanes.endIndex)
        }
        sheets[lane, default: Queue()].append(sheet)
        count += 1
        if passes.goesOn(with: sheet, seed: seed) { sheets[lane]?.putLastBeforeThoseThatYield() }
    }

    /// Sheets of a group have been overtaken by a newer state; called before they are dropped.
    mutating func breakOff(_ overtaken: [Sheet], seed: UInt64) { passes.breakOff(overtaken, seed: seed) }

    /// The first leaves, and its lane has had a part of its turn; of a sheet that was dropped it has had nothing.
    mutating func removeFirst() {
        guard let lane = firstLane, let sheet = first else { return }
        sheets[lane]?.removeFirst()
        count -= 1
        let isEmpty = sheets[lane]?.isEmpty != false
        if isEmpty { lanes.removeAll { $0 == lane } }
        if lane != turn { (turn, hadInTurn) = (lane, 0) }
        if sheet.isBegun { hadInTurn += 1 }
        if isEmpty || hadInTurn >= Self.sheetsInTurn { (turn, hadInTurn) = (lane + 1, 0) }
    }

    /// The first has lines left that it did not begin with: it comes again behind the others of its lane.
    mutating func putBackFirst() {
        guard let sheet = first else { return }
        sheet.beginAnew()
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
