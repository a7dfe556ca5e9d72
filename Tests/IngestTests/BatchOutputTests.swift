import Testing

@testable import Ingest

@Suite struct BatchOutputTests {
    /// Installations are decoded for a transaction; the largest have some 140 KiB, and records are many.
    @Test func `a transaction ends where it holds too many bytes of installations`() {
        var output = BatchOutput(lanes: 1)
        output.hold(bytes: BatchOutput.heldBytesMax - 1)
        let isFullBefore = output.isFull
        output.hold(bytes: 1)
        let isFull = output.isFull
        output.removeAll()
        let isFullAfterwards = output.isFull
        #expect(!isFullBefore && isFull && !isFullAfterwards)
    }
}
