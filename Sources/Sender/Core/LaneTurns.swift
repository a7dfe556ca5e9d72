/// Sheets that wait to be pushed: the lanes take turns, a sheet each, and within a lane the first is first.
///
/// Kafka hands over one lane's records after the other's. In that order the last lane would wait for all others, and
/// where updates come sooner than a pass is done its phones would never be reached.
struct LaneTurns {
    private var sheets: [Int32: Queue<Sheet>] = [:]
    /// The lanes that have any, the next one first.
    private var turns = Queue<Int32>()
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var first: Sheet? { turns.first.flatMap { sheets[$0]?.first } }

    mutating func append(_ sheet: Sheet) {
        let lane = sheet.lane.number
        if sheets[lane, default: Queue()].isEmpty { turns.append(lane) }
        sheets[lane, default: Queue()].append(sheet)
        count += 1
    }

    /// The first leaves, and its lane has had its turn.
    mutating func removeFirst() {
        guard let lane = turns.first else { return }
        sheets[lane]?.removeFirst()
        turns.removeFirst()
        count -= 1
        if sheets[lane]?.isEmpty == false { turns.append(lane) }
    }

    mutating func removeAll(where isOut: (Sheet) -> Bool) {
        for lane in sheets.keys { sheets[lane]?.removeAll(where: isOut) }
        turns.removeAll { sheets[$0]?.isEmpty != false }
        count = sheets.values.reduce(0) { $0 + $1.count }
    }
}
