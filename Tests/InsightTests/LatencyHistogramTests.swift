import Insight
import JSON
import Testing

/// The buckets and percentiles of latencies.
struct LatencyHistogramTests {
    @Test func `a percentile is never too low, and at most an eighth too high`() throws {
        for milliseconds in [
            0, 1, 7, 8, 9, 15, 16, 17, 100, 1023, 1024, 86_400_000, LatencyHistogram.millisecondsMax,
        ] {
            var latencies = LatencyHistogram()
            latencies.add(milliseconds: milliseconds)
            let median = try #require(latencies.percentile(0.5))
            #expect(median >= milliseconds && Double(median) <= Double(milliseconds) * 1.125)
        }
    }

    @Test func `a negative time counts as zero, and a time beyond the limit as the limit`() throws {
        var latencies = LatencyHistogram()
        latencies.add(milliseconds: -5)
        latencies.add(milliseconds: .max)
        #expect(latencies.percentile(0.5) == 0)
        #expect(try #require(latencies.percentile(1)) >= LatencyHistogram.millisecondsMax)
        #expect(LatencyHistogram().percentile(0.5) == nil)
    }

    @Test func `written latencies are read back, and malformed ones are rejected`() throws {
        var latencies = LatencyHistogram()
        for time in [Int64](stride(from: 0, to: 100_000, by: 37)) {
            latencies.add(milliseconds: time, count: 3)
        }
        var json = JSONWriter(capacity: 1024)
        latencies.write(to: &json)
        let reader = JSONReader()
        #expect(try reader.read(json.bytes) { LatencyHistogram(from: $0) } == latencies)
        for text in ["[-1,1]", "[100000,1]", "[1,0]", "[1,9223372036854775807]", #"["a",1]"#, "{}"] {
            #expect(throws: JSONError.self) {
                try reader.read(Array(text.utf8)) { LatencyHistogram(from: $0) }
            }
        }
    }
}
