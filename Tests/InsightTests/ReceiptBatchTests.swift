import Insight
import JSON
import Jobs
import RecordFormat
import Simulation
import Testing

/// The receipts of a random day against an independent count. A `ReceiptBatch` counts receipts together with the stored
/// rows (`MemoryRows`), to which the test adds the batch from time to time.
struct ReceiptBatchTests {
    @Test(arguments: [1, 2, 3, 4])
    func `every figure of a random day equals an independent count`(seed: Int) throws {
        var day = RandomDay(seed: seed)
        let receipts = day.receipts(sheets: trialCount(base: 300))
        var rows = MemoryRows()
        var batch = ReceiptBatch()
        for receipt in receipts {
            try batch.count(receipt, systems: [], storedIn: rows)
            if day.chance(1, in: 7) {
                try rows.enter(batch)
                batch.removeAll()
            }
        }
        try rows.enter(batch)

        let expected = IndependentCount(of: receipts)
        #expect(Set(rows.tallies.keys) == Set(expected.outcomes.keys))
        for (key, outcomes) in expected.outcomes {
            let tally = try #require(try rows.tally(for: key))
            #expect(tally.outcomes == outcomes, "send \(key.send)")
            #expect(tally.finishedCount == outcomes.values.reduce(0, +))
            let times = expected.latencies[key, default: []].sorted()
            #expect(tally.latencies.count == times.count)
            for share in [0.5, 0.9, 0.99, 1] where !times.isEmpty {
                let exact = times[max(1, Int((Double(times.count) * share).rounded(.up))) - 1]
                let estimate = try #require(tally.latencies.percentile(share))
                #expect(exact <= estimate && Double(estimate) <= Double(exact) * 1.125, "share \(share)")
            }
        }
    }

    @Test func `the sum of several lanes equals the count of one lane`() throws {
        var day = RandomDay(seed: 9)
        let receipts = day.receipts(sheets: 200)
        var rowsOfLanes: [Int32: MemoryRows] = [:]
        var rowsOfAll = MemoryRows()
        for receipt in receipts {
            var batch = ReceiptBatch()
            try batch.count(receipt, systems: [], storedIn: rowsOfAll)
            try rowsOfAll.enter(batch)
            var batchOfLane = ReceiptBatch()
            let lane = receipt.position.partition % 3
            let rows = rowsOfLanes[lane, default: MemoryRows()]
            try batchOfLane.count(receipt, systems: [], storedIn: rows)
            try rowsOfLanes[lane, default: MemoryRows()].enter(batchOfLane)
        }
        for key in rowsOfAll.tallies.keys {
            var sum = SendReport()
            for rows in rowsOfLanes.values {
                if let tally = try rows.tally(for: key) { sum.add(tally, of: key.environment) }
            }
            let total = try #require(try rowsOfAll.tally(for: key))
            #expect(sum.total?.outcomes == total.outcomes)
            #expect(sum.total?.latencies == total.latencies)
            #expect(sum.remainingJobs(of: total.finishedCount + 3) == 3)
            #expect(sum.remainingJobs(of: 0) == 0)
        }
    }

    @Test func `a receipt that is read twice counts once`() throws {
        var day = RandomDay(seed: 5)
        let receipts = day.receipts(sheets: 20)
        var rows = MemoryRows()
        for _ in 0..<2 {
            var batch = ReceiptBatch()
            for receipt in receipts { try batch.count(receipt, systems: [], storedIn: rows) }
            try rows.enter(batch)
        }
        for (key, outcomes) in IndependentCount(of: receipts).outcomes {
            #expect(try rows.tally(for: key)?.outcomes == outcomes)
        }
    }

    @Test func `reasons beyond the limit count without their names`() throws {
        var receipt = RandomDay(seed: 1).receipt
        receipt.parts = (0..<400).map { line in
            var lines = LineSet()
            lines.append(line)
            return Receipt.Part(.rejected, lines: lines, status: 400, reason: "Reason\(line)")
        }
        var batch = ReceiptBatch()
        try batch.count(receipt, systems: [], storedIn: MemoryRows())
        let tally = try #require(batch.tallies.values.first)
        #expect(tally.count(of: .rejected) == 400)
        #expect(tally.outcomes.count == SendTally.outcomesMax + 1)
        #expect(tally.rejections["none"] == 400 - SendTally.outcomesMax)
        let read = try SendTally.decode(tally.encoded(), with: JSONReader())
        #expect(read == tally)
    }

    @Test func `outcomes are counted by the system that the line of the phone names`() throws {
        func lines(_ numbers: Int...) -> LineSet {
            numbers.reduce(into: LineSet()) { $0.append($1) }
        }
        var receipt = RandomDay(seed: 1).receipt
        receipt.parts = [
            .init(.accepted, lines: lines(2, 9)), .init(.moved, lines: lines(5)),
            .init(.rejected, lines: lines(7), reason: "Gone"),
            .init(.expired, lines: lines(70)),
        ]
        var batch = ReceiptBatch()
        // The systems belong to the lines 2, 5, 7 and 9. Line 70 has none. A repeated receipt counts nothing more.
        for _ in 0..<2 { try batch.count(receipt, systems: [17, 26, 18, 17], storedIn: MemoryRows()) }
        let tally = try #require(batch.tallies.values.first)
        func counts(_ outcome: ReceiptOutcome) -> [Int] {
            (tally.systems[outcome]?.counts ?? []).flatMap { [Int($0.system), $0.count] }
        }
        #expect(counts(.accepted) == [17, 2] && counts(.rejected) == [18, 1])
        #expect(counts(.expired) == [0, 1] && counts(.moved) == [])
        #expect(try SendTally.decode(tally.encoded(), with: JSONReader()) == tally)
        var two = tally
        two.merge(tally)
        #expect(two.systems[.accepted]?.count(on: 17) == 4 && two.finishedCount == 8)
    }

    @Test func `counts that no send has are damaged data, and equal entries are added`() throws {
        var receipt = RandomDay(seed: 1).receipt
        var line = LineSet()
        line.append(0)
        receipt.parts = [.init(.expired, lines: line)]
        var batch = ReceiptBatch()
        try batch.count(receipt, systems: [17], storedIn: MemoryRows())
        let tally = try #require(batch.tallies.values.first)
        let text = String(decoding: tally.encoded(), as: UTF8.self)
        func decode(replacing part: String, with other: String) throws -> SendTally {
            try #require(text.contains(part))
            return try SendTally.decode(Array(text.replacing(part, with: other).utf8), with: JSONReader())
        }
        let outcome = #"{"outcome":"expired","count":1}"#
        #expect(try decode(replacing: outcome, with: "\(outcome),\(outcome)").count(of: .expired) == 2)
        #expect(
            try decode(replacing: "[17,1]", with: "[17,1,17,1]").systems[.expired]?.count(on: 17) == 2)
        // The sum of two such counts would overflow.
        let greatest = String(Int.max)
        #expect(throws: RecordDecodingError.self) {
            try decode(replacing: outcome, with: outcome.replacing("1", with: greatest))
        }
        #expect(throws: RecordDecodingError.self) {
            try decode(replacing: "[17,1]", with: "[17,\(greatest),17,\(greatest)]")
        }
    }

    @Test func `systems beyond the limit count as unknown`() {
        var counts = SystemCounts()
        for system in (1...200 as ClosedRange<UInt8>).reversed() { counts.add(2, on: system) }
        // The first 32 systems are counted separately, and the other 168 as the unknown system 0.
        #expect(counts.counts.count == 32 + 1 && counts.total == 400)
        #expect(counts.counts.map(\.system) == counts.counts.map(\.system).sorted())
        #expect(counts.count(on: 200) == 2 && counts.count(on: 0) == 2 * 168)
    }

    @Test func `an outcome that is not final makes no row`() throws {
        var receipt = RandomDay(seed: 1).receipt
        receipt.parts = [.init(.intent, lines: LineSet(all: 3)), .init(.moved, lines: LineSet(all: 1))]
        var batch = ReceiptBatch()
        try batch.count(receipt, systems: [], storedIn: MemoryRows())
        #expect(batch.isEmpty)
    }
}
