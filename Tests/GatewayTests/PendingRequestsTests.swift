import Simulation
import Testing

@testable import Gateway

/// Requests that wait until their records are stored. A request has a tag, which the acknowledgements of its records
/// carry. The last acknowledgement settles the request.
struct PendingRequestsTests {
    @Test func `a request settles with its last record, and is stored if all records are`() {
        var waiting = PendingRequests<String>()
        let twoRecords = waiting.add("a", records: 2)
        let threeRecords = waiting.add("b", records: 3)
        #expect(waiting.settle(tag: twoRecords, isStored: true) == nil)
        #expect(waiting.settle(tag: threeRecords, isStored: false) == nil)
        let first = waiting.settle(tag: twoRecords, isStored: true)
        #expect(first?.0 == "a" && first?.isStored == true)
        let second = waiting.settle(tag: threeRecords, records: 2, isStored: true)
        #expect(second?.0 == "b" && second?.isStored == false)
        #expect(waiting.count == 0)
        #expect(waiting.add("c", records: 1) <= 1, "a free index is reused")
    }

    @Test func `removed requests are returned once, and their indexes are reused`() {
        var waiting = PendingRequests<String>()
        _ = waiting.settle(tag: waiting.add("a", records: 1), isStored: true)
        _ = waiting.add("b", records: 2)
        _ = waiting.add("c", records: 2)
        #expect(waiting.removeAll().sorted() == ["b", "c"])
        #expect(waiting.count == 0 && waiting.add("d", records: 1) == 0)
    }

    @Test func `each request settles exactly once, in any order of its records`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        var waiting = PendingRequests<Int>()
        var open: [(tag: UInt64, unsettled: Int, isStored: Bool, request: Int)] = []
        var (addedCount, settledCount) = (0, 0)
        for _ in 0..<trialCount(base: 20_000) {
            if open.count < 50, random.number(below: 2) == 0 {
                let records = 1 + random.number(below: 5)
                open.append((waiting.add(addedCount, records: records), records, true, addedCount))
                addedCount += 1
            } else if !open.isEmpty {
                let index = random.number(below: open.count)
                let isStored = random.number(below: 10) > 0
                if !isStored { open[index].isStored = false }
                open[index].unsettled -= 1
                let done = waiting.settle(tag: open[index].tag, isStored: isStored)
                #expect((done != nil) == (open[index].unsettled == 0), "seed \(seed)")
                guard let done else { continue }
                #expect(
                    done.0 == open[index].request && done.isStored == open[index].isStored, "seed \(seed)")
                open.remove(at: index)
                settledCount += 1
            }
        }
        #expect(waiting.count == addedCount - settledCount)
    }
}
