import Testing

@testable import Ingest

@Suite struct IngestOutputTests {
    /// A transaction decodes installations. The largest have some 140 KiB, and there are many records.
    @Test func `a transaction ends at the limit for bytes of decoded installations`() {
        var output = IngestOutput(laneCount: 1)
        output.countDecoded(bytes: IngestOutput.decodedBytesMax - 1)
        let isFullBefore = output.isFull
        output.countDecoded(bytes: 1)
        let isFull = output.isFull
        output.removeAll()
        let isFullAfterwards = output.isFull
        #expect(!isFullBefore && isFull && !isFullAfterwards)
    }
}
