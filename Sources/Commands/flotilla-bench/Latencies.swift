internal import Foundation

/// Measured latencies in seconds. The description has their median, 99th percentile and maximum in milliseconds.
struct Latencies: CustomStringConvertible {
    private(set) var seconds: [Double] = []

    mutating func append(_ value: Double) { seconds.append(value) }

    var description: String {
        let sorted = seconds.sorted()
        func milliseconds(at share: Double) -> String {
            guard !sorted.isEmpty else { return "–" }
            let index = min(sorted.count - 1, Int(Double(sorted.count) * share))
            return String(format: "%.1f", sorted[index] * 1000)
        }
        return
            "\(milliseconds(at: 0.5)) ms median, \(milliseconds(at: 0.99)) ms p99, \(milliseconds(at: 1)) ms at most"
    }
}
