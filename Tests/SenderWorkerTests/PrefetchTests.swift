import Kafka
import Testing

@testable import Sender

/// Tests of the memory for records that the consumer fetches ahead.
///
/// The library counts only the bytes of values, and the jobs of a sheet lie in its headers. So the number of records
/// must limit the memory.
@Suite struct PrefetchTests {
    @Test func `sheets that are fetched ahead are bounded by their number`() {
        let options = SenderSettings().options(.manual)
        let mebibyte = 1 << 20
        let bytesPerSheet = mebibyte
        // At most 64 MiB are fetched ahead, and 4 MiB come in one answer. A batch is a small part of the sheets in
        // hand.
        #expect(options.prefetchRecordsMax * bytesPerSheet <= 64 * mebibyte)
        #expect(options.fetchKibibytesMax * 1024 <= 4 * mebibyte)
        #expect(SenderSettings.batchBytesMax <= SenderLimits().sheetBytesMax / 8)
    }
}
