/// Sheets that wait to be pushed: the lanes take turns, a sheet each, and within a lane the first is first.
///
/// Kafka hands over one lane's records after the other's. In that order the last lane would wait for all others, and
/// where updates come sooner than a pass is done its phones would never be reached. For the same reason a group's
/// pass through a lane goes on with its next update where the newer state broke it off.
struct LaneTurns {
    private var sheets: [Int32: Queue<Sheet>] = [:]
    private var passes = BrokenPasses()
    /// The lanes that have any, the next one first.
    private var turns = Queue<Int32>()
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var first: Sheet? { turns.first.flatMap { sheets[$0]?.first } }

    /// - Parameter seed: of subjects.
    mutating func append(_ sheet: Sheet, seed: UInt64) {
        let lane = sheet.lane.number
        if sheets[lane, default: Queue()].isEmpty { turns.append(lane) }
        sheets[lane, default: Queue()].append(sheet)
        count += 1
        if passes.goesOn(with: sheet, seed: seed) { sheets[lane]?.putLastBeforeThoseThatYield() }
    }

    /// Sheets of a group have been overtaken by a newer state; called before they are dropped.
    mutating func breakOff(_ overtaken: [Sheet], seed: UInt64) { passes.breakOff(overtaken, seed: seed) }

    /// The first leaves, and its lane has had its turn.
    mutating func removeFirst() {
        guard let lane = turns.first else { return }
        sheets[lane]?.removeFirst()
        turns.removeFirst()
        count -= 1
        if sheets[lane]?.isEmpty == false { turns.append(lane) }
    }

    /// The first has lines left that it did not begin with: it comes again behind the others of its lane.
    mutating func putBackFirst() {
        guard let sheet = first else { return }
        sheet.beginAnew()
        let lane = sheet.lane.number
        sheets[lane]?.append(sheet)
        count += 1
        removeFirst()
    }

    mutating func removeAll(where isOut: (Sheet) -> Bool) {
        for lane in sheets.keys { sheets[lane]?.removeAll(where: isOut) }
        turns.removeAll { sheets[$0]?.isEmpty != false }
        count = sheets.values.reduce(0) { $0 + $1.count }
    }
}
