import StageSupport
import Testing

/// The number of records in one transaction, which shrinks after failures and grows again.
@Suite struct TransactionSizeLimitTests {
    @Test func `a failure halves the records of a transaction, a success doubles them up to the limit`() {
        var limit = TransactionSizeLimit(recordsMax: 1000)
        limit.shrink(afterFailureOf: 700)
        #expect(limit.records == 350)
        limit.shrink(afterFailureOf: 350)
        #expect(limit.records == 175)
        for _ in 0..<20 { limit.shrink(afterFailureOf: limit.records) }
        #expect(limit.records == 1)
        limit.grow()
        #expect(limit.records == 2)
        for _ in 0..<20 { limit.grow() }
        #expect(limit.records == 1000)
    }
}
