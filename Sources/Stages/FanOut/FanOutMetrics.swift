internal import StageSupport
internal import Telemetry

/// The metrics that both kinds of loop share. Each kind has more in its own file. They are created once and
/// used for every batch.
struct FanOutMetrics {
    /// The kind of loop, which is a label of its metrics.
    let loop: String
    private let metrics: Metrics
    let batchSeconds: Histogram
    let inFlight: Gauge
    let oldestSeconds: Gauge
    let startedOver: Counter
    let clockDoubtSeconds: Gauge

    init(_ metrics: Metrics, loop: String) {
        self.loop = loop
        self.metrics = metrics
        let labels: KeyValuePairs = ["loop": loop]
        batchSeconds = metrics.histogram(
            "flotilla_fan_out_batch_seconds", help: "time from reading a batch to its commit", labels: labels)
        inFlight = metrics.gauge(
            "flotilla_fan_out_in_flight", help: "records read and not yet committed", labels: labels)
        oldestSeconds = metrics.gauge(
            "flotilla_fan_out_oldest_seconds", help: "age of the oldest record that is not yet committed",
            labels: labels)
        startedOver = metrics.counter(
            "flotilla_fan_out_started_over_total",
            help: "batches that were not committed and are read again from the committed offsets",
            labels: labels)
        clockDoubtSeconds = metrics.gauge(
            "flotilla_fan_out_clock_doubt_seconds",
            help: "difference between the clocks of brokers and machine while the stage doubts them",
            labels: labels)
        // The series exists from the start, because `increase` does not count the first value of a new series.
        _ = deadLetters(Misfit.empty("").code)
    }

    func records(_ outcome: String) -> Counter {
        metrics.counter(
            "flotilla_fan_out_records_total", help: "records, by outcome",
            labels: ["loop": loop, "outcome": outcome])
    }

    func deadLetters(_ code: String) -> Counter {
        metrics.counter(
            "flotilla_fan_out_dead_letters_total", help: "records sent to the dead letters, by reason",
            labels: ["loop": loop, "code": code])
    }

    func produced(_ topic: String) -> Counter {
        metrics.counter(
            "flotilla_fan_out_produced_total", help: "records committed, by topic",
            labels: ["loop": loop, "topic": topic])
    }
}
