import Simulation
import Testing

@testable import Sender

/// A consumer under `ReceiptReadPlan`, as the library behaves. It is assigned again whenever a lane is added, and it
/// reports records in pieces and some of them twice. Meanwhile others write behind the end that was asked for, the
/// cluster deletes old records, and sometimes it does not report the end of a lane.
@Suite struct ReceiptReadPlanTests {
    private struct Lane {
        /// Offsets with a record. The end of a transaction takes an offset without a record.
        var records: [Int64] = []
        var begin: Int64 = 0
        var end: Int64 = 0

        mutating func write(_ random: inout SeededGenerator) {
            if random.number(below: 5) > 0 { records.append(end) }
            end += 1
        }
    }

    private func live(_ seed: UInt64) -> [String] {
        var random = SeededGenerator(seed: seed)
        var faults: [String] = []
        var reading = ReceiptReadPlan()
        var lanes = Array(repeating: Lane(), count: 3)
        for lane in lanes.indices { for _ in 0..<random.number(below: 30) { lanes[lane].write(&random) } }
        var positions: [Int32: Int64] = [:]
        var wanted: [Int32: (from: Int64, end: Int64?)] = [:]
        var found: [Int32: [Int64]] = [:]
        for _ in 0..<200 {
            let lane = Int32(random.number(below: lanes.count))
            switch random.number(below: 13) {
            case 0:
                wanted[lane] = (Int64(random.number(below: Int(lanes[Int(lane)].end) + 1)), nil)
                found[lane] = []
                reading.planRead(lane: lane, from: wanted[lane]?.from ?? 0)
            case 1:
                if random.number(below: 8) == 0 {
                    reading.forgetAll()
                    (wanted, found, positions) = ([:], [:], [:])
                }
            case 2, 3: lanes[Int(lane)].write(&random)
            case 4, 5:
                let fresh = reading.lanesWithoutEnd
                // A lane whose leader is away is asked for again, and the others begin.
                for lane in fresh where random.number(below: 6) != 0 {
                    let (low, end) = (lanes[Int(lane)].begin, lanes[Int(lane)].end)
                    reading.begin(lane: lane, low: low, high: end)
                    wanted[lane]?.end = end
                }
                if fresh.isEmpty { continue }
                positions = [:]
                for start in reading.starts { positions[start.lane] = start.offset }
            case 6:
                let begin = lanes[Int(lane)].begin
                lanes[Int(lane)].begin += Int64(random.number(below: Int(lanes[Int(lane)].end - begin) + 1))
            default:
                guard let position = positions[lane] else { continue }
                if position < lanes[Int(lane)].begin {
                    _ = reading.receiptsWereDeleted(lane: lane)
                    positions[lane] = nil
                    continue
                }
                let next = max(lanes[Int(lane)].begin, position - Int64(random.number(below: 2)))
                let goal = min(lanes[Int(lane)].end, next + Int64(random.number(below: 9)))
                for offset in next..<max(next, goal) where lanes[Int(lane)].records.contains(offset) {
                    if reading.accepts(lane: lane, at: offset) { found[lane, default: []].append(offset) }
                }
                positions[lane] = max(next, goal)
                if positions[lane] == lanes[Int(lane)].end {
                    reading.reachedEnd(lane: lane, at: lanes[Int(lane)].end)
                }
            }
            for whole in reading.takeEnded() {
                guard let want = wanted.removeValue(forKey: whole.lane), let end = want.end else {
                    faults.append("lane \(whole.lane) ends although no read waits for it")
                    continue
                }
                let lane = lanes[Int(whole.lane)]
                let all = lane.records.filter {
                    $0 >= want.from && $0 < end
                        && ($0 >= lane.begin || found[whole.lane]?.contains($0) == true)
                }
                if whole.offset != end || found[whole.lane] != all {
                    faults.append(
                        "lane \(whole.lane) from \(want.from) to \(end): \(found[whole.lane] ?? []), not \(all)"
                    )
                }
            }
        }
        return faults
    }

    @Test
    func `each existing record before the requested end is found exactly once`() {
        var seeds = SystemRandomNumberGenerator()
        for _ in 0..<trialCount(base: 500) {
            let seed = testSeed ?? seeds.next()
            let faults = live(seed)
            #expect(faults.isEmpty, "TEST_SEED=\(seed): \(faults.prefix(3))")
            if !faults.isEmpty { return }
        }
    }
}
