internal import Jobs

/// The accepted jobs of the receipts that were added: their number, their rate and their latencies.
struct SenderReceiptTally {
    private(set) var acceptedCount = 0
    // The times of the first and the last receipt, in milliseconds since 1970.
    private var firstWrittenAt = Int64.max
    private var lastWrittenAt = Int64.min
    /// The milliseconds from the time at which a send was accepted, here its writing, to the receipt, for each job.
    private var latencies: [Int] = []

    mutating func add(_ receipt: Receipt) {
        for part in receipt.parts where part.outcome == .accepted {
            let jobCount = part.lines.count
            acceptedCount += jobCount
            firstWrittenAt = min(firstWrittenAt, receipt.writtenAt)
            lastWrittenAt = max(lastWrittenAt, receipt.writtenAt)
            let latency = Int(max(0, receipt.writtenAt - receipt.acceptedAt))
            latencies.append(contentsOf: repeatElement(latency, count: jobCount))
        }
    }

    /// Accepted jobs per second between the first and the last receipt, or 0 if there is only one time.
    var rate: Double {
        guard lastWrittenAt > firstWrittenAt else { return 0 }
        return Double(acceptedCount) / (Double(lastWrittenAt - firstWrittenAt) / 1000)
    }

    /// The percentiles of the latencies, as text. There must be an accepted job.
    var latencySummary: String {
        let sortedLatencies = latencies.sorted()
        func milliseconds(atQuantile quantile: Double) -> Int {
            // The quantile 1 is the maximum, which is the last latency.
            sortedLatencies[min(sortedLatencies.count - 1, Int(Double(sortedLatencies.count) * quantile))]
        }
        return "\(milliseconds(atQuantile: 0.5)) ms median, \(milliseconds(atQuantile: 0.95)) ms p95, "
            + "\(milliseconds(atQuantile: 0.99)) ms p99, \(milliseconds(atQuantile: 1)) ms at most"
    }
}
