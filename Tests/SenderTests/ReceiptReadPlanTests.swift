import Simulation
import Testing

@testable import Sender

/// Tests of `ReceiptReadPlan`, which decides which receipts of a lane a new owner must read, and when it has read them
/// all. An owner first writes a marker into the lane, and then reads up to it. A simulated consumer reports receipts in
/// every order that a real one may choose.
@Suite struct ReceiptReadPlanTests {
    @Test func `each read finds each existing record before the marker once, and ends`() {
        var seeds = SystemRandomNumberGenerator()
        for _ in 0..<trialCount(base: 500) {
            let seed = testSeed ?? seeds.next()
            var simulation = ReceiptReadSimulation(seed: seed)
            for _ in 0..<200 { simulation.step() }
            simulation.finish()
            #expect(simulation.failures.isEmpty, "TEST_SEED=\(seed): \(simulation.failures.prefix(3))")
            if !simulation.failures.isEmpty { return }
        }
    }
}

/// A consumer under a `ReceiptReadPlan`, as the library behaves. It is assigned again whenever a lane is added, and it
/// reports records in pieces and some of them twice. Meanwhile others write behind the marker, the cluster deletes old
/// records, and sometimes it does not store the marker of a lane.
private struct ReceiptReadSimulation {
    /// A partition of `receipts`.
    private struct Lane {
        /// The offsets with a record. The end of a transaction takes an offset without a record.
        var records: [Int64] = []
        var begin: Int64 = 0
        var end: Int64 = 0

        mutating func write(using random: inout SeededGenerator) {
            if random.number(below: 5) > 0 { records.append(end) }
            end += 1
        }
    }

    private(set) var failures: [String] = []
    private var random: SeededGenerator
    private var plan = ReceiptReadPlan()
    private var lanes = Array(repeating: Lane(), count: 3)
    /// The consumer's positions.
    private var positions: [Int32: Int64] = [:]
    /// The reads that are not finished. The marker's offset is nil until the cluster has stored the marker.
    private var openReads: [Int32: (from: Int64, markerOffset: Int64?)] = [:]
    /// The offsets of the records that the plan took.
    private var takenOffsets: [Int32: [Int64]] = [:]

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        for lane in lanes.indices {
            for _ in 0..<random.number(below: 30) { lanes[lane].write(using: &random) }
        }
    }

    mutating func step() {
        let lane = Int32(random.number(below: lanes.count))
        switch random.number(below: 13) {
        case 0: requestRead(of: lane)
        case 1 where random.number(below: 8) == 0:
            // All lanes go to other processes.
            plan.forgetAll()
            (openReads, takenOffsets, positions) = ([:], [:], [:])
        case 2, 3: lanes[Int(lane)].write(using: &random)
        case 4, 5: assignConsumer()
        case 6: deleteOldRecords(of: lane)
        default: deliverRecords(of: lane)
        }
        checkFinishedReads()
    }

    /// Delivers all records, and requires that each open read ends.
    mutating func finish() {
        while !plan.lanesWithoutMarker.isEmpty { assignConsumer() }
        for lane in lanes.indices {
            let end = lanes[lane].end
            while let position = positions[Int32(lane)], position < end { deliverRecords(of: Int32(lane)) }
        }
        checkFinishedReads()
        if !openReads.isEmpty { failures.append("these reads do not end: \(openReads)") }
    }

    private mutating func requestRead(of lane: Int32) {
        let start = Int64(random.number(below: Int(lanes[Int(lane)].end) + 1))
        openReads[lane] = (start, nil)
        takenOffsets[lane] = []
        plan.planRead(lane: lane, from: start)
    }

    private mutating func assignConsumer() {
        let newLanes = plan.lanesWithoutMarker
        // A lane whose leader is away gets no marker now, and is tried again.
        for lane in newLanes where random.number(below: 6) != 0 {
            let markerOffset = lanes[Int(lane)].end
            lanes[Int(lane)].end += 1
            plan.begin(lane: lane, markerAt: markerOffset)
            openReads[lane]?.markerOffset = markerOffset
        }
        if newLanes.isEmpty { return }
        positions = [:]
        for start in plan.starts { positions[start.lane] = start.offset }
    }

    private mutating func deleteOldRecords(of lane: Int32) {
        let begin = lanes[Int(lane)].begin
        lanes[Int(lane)].begin += Int64(random.number(below: Int(lanes[Int(lane)].end - begin) + 1))
    }

    private mutating func deliverRecords(of lane: Int32) {
        guard let position = positions[lane] else { return }
        // If records were deleted, the consumer continues at the first one that exists. Sometimes it reports the last
        // record again.
        let start = max(lanes[Int(lane)].begin, position - Int64(random.number(below: 2)))
        let end = max(start, min(lanes[Int(lane)].end, start + Int64(random.number(below: 9))))
        for offset in start..<end where lanes[Int(lane)].records.contains(offset) {
            if plan.take(lane: lane, at: offset) { takenOffsets[lane, default: []].append(offset) }
        }
        positions[lane] = end
        if end == lanes[Int(lane)].end { plan.reachedEnd(lane: lane, at: end) }
    }

    private mutating func checkFinishedReads() {
        for finished in plan.takeEnded() {
            guard let read = openReads.removeValue(forKey: finished.lane), let end = read.markerOffset
            else {
                failures.append("lane \(finished.lane) ends although no read waits for it")
                continue
            }
            let lane = lanes[Int(finished.lane)]
            let taken = takenOffsets[finished.lane] ?? []
            // A record that was deleted meanwhile may be missing.
            let expected = lane.records.filter {
                $0 >= read.from && $0 < end && ($0 >= lane.begin || taken.contains($0))
            }
            if finished.offset != end || taken != expected {
                failures.append(
                    "lane \(finished.lane) from \(read.from) to \(end): \(taken), not \(expected)")
            }
        }
    }
}
