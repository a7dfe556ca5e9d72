import Kafka
import Testing

@testable import Sender

/// The memory for records that the consumer fetches ahead.
@Suite struct PrefetchTests {
    /// The library counts only the bytes of values, and a sheet lies in its headers.
    @Test func `sheets that are fetched ahead are bounded by their number`() {
        let options = SenderSettings().options(.manual)
        let sheetBytesMax = 1 << 20
        #expect(options.prefetchRecordsMax * sheetBytesMax <= 64 << 20)
        #expect(options.fetchKibibytesMax << 10 <= 4 << 20)
        #expect(SenderSettings.batchBytesMax <= SenderLimits().sheetBytesMax / 8)
    }
}
