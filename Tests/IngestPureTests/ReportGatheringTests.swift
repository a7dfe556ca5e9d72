import Testing

@testable import Ingest

/// The time for which reports gather between two transactions.
struct ReportGatheringTests {
    @Test func `after few reports only the shortest pause is made`() {
        let records = ReportGathering.recordsMin - 1
        #expect(ReportGathering.pauseMilliseconds(after: records, taking: 80, atLeast: 5) == 5)
    }

    @Test func `after many reports the pause is twice as long as the transaction, within limits`() {
        let records = ReportGathering.recordsMin
        #expect(ReportGathering.pauseMilliseconds(after: records, taking: 40, atLeast: 5) == 80)
        #expect(ReportGathering.pauseMilliseconds(after: records, taking: 1, atLeast: 5) == 5)
        #expect(ReportGathering.pauseMilliseconds(after: records, taking: 900, atLeast: 5) == 250)
    }
}
