internal import Telemetry

/// Pushes that took equally long follow one another, because they leave and are answered in batches:
/// a run of them enters the histogram at once.
struct LatencyRun {
    private var milliseconds = 0
    private var count = 0

    mutating func add(_ value: Int, to histogram: Histogram) {
        if value != milliseconds { flush(to: histogram) }
        milliseconds = value
        count += 1
    }

    mutating func flush(to histogram: Histogram) {
        if count > 0 { histogram.observe(Double(milliseconds) / 1_000, count: count) }
        count = 0
    }
}
