internal import Foundation

/// Measured latencies. The description has their median, 99th percentile and maximum in milliseconds.
struct Latencies: CustomStringConvertible {
    /// The latencies in seconds, in the order in which they were measured.
    private(set) var seconds: [Double] = []

    /// Appends a latency in seconds.
    mutating func append(_ latency: Double) { seconds.append(latency) }

    var description: String {
        let sortedSeconds = seconds.sorted()
        func milliseconds(atQuantile quantile: Double) -> String {
            guard !sortedSeconds.isEmpty else { return "–" }
            // The quantile 1 is the maximum, which is the last latency.
            let index = min(sortedSeconds.count - 1, Int(Double(sortedSeconds.count) * quantile))
            return String(format: "%.1f", sortedSeconds[index] * 1000)
        }
        return
            "\(milliseconds(atQuantile: 0.5)) ms median, \(milliseconds(atQuantile: 0.99)) ms p99, \(milliseconds(atQuantile: 1)) ms at most"
    }
}
