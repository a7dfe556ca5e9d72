import Testing

@testable import Ingest

/// The limit of the memory that one transaction needs.
@Suite struct IngestOutputTests {
    /// A transaction decodes installations. The largest have some 140 KiB, and there are many records.
    @Test func `a transaction ends at the limit for bytes of decoded installations`() {
        var output = IngestOutput(laneCount: 1)
        output.countDecoded(bytes: IngestOutput.decodedBytesMax - 1)
        let isFullBelowLimit = output.isFull
        #expect(!isFullBelowLimit)
        output.countDecoded(bytes: 1)
        let isFullAtLimit = output.isFull
        #expect(isFullAtLimit)
        output.removeAll()
        let isFullWhenEmpty = output.isFull
        #expect(!isFullWhenEmpty)
    }
}
