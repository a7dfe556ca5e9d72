import JSON
import Jobs
import RecordFormat
import Simulation
import Testing

@testable import Insight

/// The series of an app: periods, the ring of their rows, and the answer of a lane.
struct SeriesTests {
    /// Returns receipts of a day in time order, because a slot keeps only its newest period.
    private func receipts(seed: Int, sheets: Int) -> [Receipt] {
        var day = RandomDay(seed: seed)
        return day.receipts(sheets: sheets).sorted { $0.writtenAt < $1.writtenAt }
    }

    @Test(arguments: [1, 2, 3])
    func `the periods of a lane equal an independent count`(seed: Int) throws {
        let receipts = receipts(seed: seed, sheets: 60)
        let lane = try FilledLane()
        try lane.fill(receipts: receipts) { _, line in
            ReceiptLines.Addressee(installation: "p\(line)", entry: "start:M", recipient: "i:p\(line)")
        }
        var finished = Set<String>()
        var expected: [Int64: [String: Int]] = [:]
        for receipt in receipts where receipt.app == "flash" {
            for part in receipt.parts where part.outcome.isFinal {
                part.lines.forEachLine { line in
                    let position = receipt.position
                    let job = "\(position.topic) \(position.partition) \(position.offset) \(line)"
                    guard finished.insert(job).inserted else { return }
                    let at = receipt.writtenAt - receipt.writtenAt % 600_000
                    expected[at, default: [:]][part.outcome.rawValue, default: 0] += 1
                }
            }
        }
        var query = LaneQuery(.series, app: "flash")
        query.code = SeriesResolution.tenMinutes.rawValue
        let periods = lane.reader.answer(query).periods
        var found: [Int64: [String: Int]] = [:]
        for period in periods {
            var counts: [String: Int] = [:]
            for outcome in ReceiptOutcome.allCases where period.count(of: outcome) > 0 {
                counts[outcome.rawValue] = period.count(of: outcome)
            }
            let previous = found.updateValue(counts, forKey: period.at)
            #expect(previous == nil, "one period for each beginning")
        }
        #expect(found == expected && !expected.isEmpty)
        for period in periods where period.count(of: .accepted) > 0 {
            #expect(period.latencies.count == period.count(of: .accepted))
        }
        query.from = periods.map(\.at).max() ?? 0
        #expect(lane.reader.answer(query).periods.map(\.at) == [query.from], "a range leaves out the others")
    }

    @Test func `a period reads back, and periods of two lanes add up`() throws {
        var period = PeriodTally(at: 600_000)
        period.countJobs(SendTally.JobOutcome(outcome: .accepted), jobs: 3, after: 40)
        period.countJobs(SendTally.JobOutcome(outcome: .rejected, reason: "BadTopic"), jobs: 2, after: 40)
        #expect(try PeriodTally.decode(period.encoded(), with: JSONReader()) == period)
        var (first, second) = (QueryResult(), QueryResult())
        (first.lanes, first.periods, second.lanes, second.periods) = ([0], [period], [1], [period])
        first.merge(second)
        #expect(first.periods.count == 1 && first.periods[0].count(of: .accepted) == 6)
        #expect(QueryResult.decodeIfValid(first.encoded(), with: JSONReader()) == first)
    }

    @Test func `an app has a bounded number of rows, and an old receipt replaces nothing`() throws {
        let day = RandomDay(seed: 4)
        let lane = try FilledLane()
        let start = day.receipt.writtenAt
        // A receipt every ten seconds for two days, and then one from the first day.
        var receipts: [Receipt] = (0..<17_280).map { number in
            var receipt = day.receipt
            receipt.position = JobPosition(topic: "jobs", partition: 0, offset: Int64(number))
            receipt.writtenAt = start + Int64(number) * 10_000
            receipt.parts = [Receipt.Part(.accepted, lines: LineSet(all: 1))]
            return receipt
        }
        let newest = receipts[receipts.count - 1].writtenAt
        receipts.append(receipts[0])
        receipts[receipts.count - 1].position.offset = 99_999
        try lane.fill(receipts: receipts) { _, _ in
            ReceiptLines.Addressee(installation: "p", entry: "start:M", recipient: "i:p")
        }
        #expect(try lane.seriesRowCount == SeriesResolution.rowsMax)
        for resolution in SeriesResolution.allCases {
            var query = LaneQuery(.series, app: day.receipt.app)
            query.code = resolution.rawValue
            let periods = lane.reader.answer(query).periods
            #expect(periods.count == resolution.slotCount)
            let span = Int64(resolution.slotCount) * resolution.milliseconds
            #expect(periods.allSatisfy { $0.at > newest - span }, "\(resolution)")
        }
    }
}
