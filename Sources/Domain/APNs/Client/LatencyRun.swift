internal import Telemetry

/// A run of equal latencies that enters the histogram in one call. Pushes are sent and answered in batches,
/// so equal latencies often follow one another.
struct LatencyRun {
    private var milliseconds = 0
    private var count = 0

    /// Adds a latency in milliseconds. A different latency ends the run.
    mutating func add(_ newMilliseconds: Int, to histogram: Histogram) {
        if newMilliseconds != milliseconds { flush(to: histogram) }
        milliseconds = newMilliseconds
        count += 1
    }

    /// Ends the run: its latencies enter the histogram.
    mutating func flush(to histogram: Histogram) {
        if count > 0 { histogram.observe(Double(milliseconds) / 1_000, count: count) }
        count = 0
    }
}
