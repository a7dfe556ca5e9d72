internal import StageSupport
internal import Telemetry

/// The metrics of the stage. They are created once and used for every batch.
struct SchedulerMetrics {
    private static let latenessBounds: [Double] = [
        0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 3600,
    ]

    private let metrics: Metrics
    let batchSeconds: Histogram
    let inFlight: Gauge
    let oldestSeconds: Gauge
    let lateness: Histogram
    let fired: Counter
    let expired: Counter
    let timers: Gauge
    let overlay: Gauge
    let held: Gauge
    let jumps: Counter
    let blocked: Gauge
    let restoreSeconds: Histogram
    let startedOver: Counter
    let views: TopicViewMetrics

    init(_ metrics: Metrics) {
        self.metrics = metrics
        batchSeconds = metrics.histogram(
            "flotilla_scheduler_batch_seconds", help: "time from reading a batch of orders to its commit")
        inFlight = metrics.gauge(
            "flotilla_scheduler_in_flight", help: "orders read and not yet committed")
        oldestSeconds = metrics.gauge(
            "flotilla_scheduler_oldest_seconds",
            help: "delay of the timer that fires next; 0 while no timer is late")
        lateness = metrics.histogram(
            "flotilla_scheduler_lateness_seconds",
            help: "time from a timer's due time to the commit that fired it",
            bounds: Self.latenessBounds)
        fired = metrics.counter("flotilla_scheduler_fired_total", help: "timers that fired and wrote a send")
        expired = metrics.counter(
            "flotilla_scheduler_expired_total", help: "timers that expired because they were too late")
        timers = metrics.gauge(
            "flotilla_scheduler_timers",
            help: "waiting timers, plus idempotency keys, which are kept for a day")
        overlay = metrics.gauge(
            "flotilla_scheduler_overlay_rows", help: "timers committed and not yet read back into the view")
        held = metrics.gauge(
            "flotilla_scheduler_clock_held", help: "1 while no timer fires because a clock has jumped")
        jumps = metrics.counter(
            "flotilla_scheduler_clock_jumps_total", help: "jumps of this machine's clock by more than 5 s")
        blocked = metrics.gauge(
            "flotilla_scheduler_partitions_blocked",
            help: "partitions whose orders wait: their view is not writable, or their offset is out of range")
        restoreSeconds = metrics.histogram(
            "flotilla_scheduler_restore_seconds",
            help: "time from the assignment of a partition until its timers are complete")
        startedOver = metrics.counter(
            "flotilla_scheduler_started_over_total",
            help: "batches that were not committed and are read again from the committed offsets")
        views = TopicViewMetrics(
            metrics, of: "timers", views: "flotilla_scheduler_views_total",
            applied: "flotilla_scheduler_applied_offset")
    }

    func records(_ outcome: String) -> Counter {
        metrics.counter(
            "flotilla_scheduler_records_total", help: "orders, by outcome",
            labels: ["outcome": outcome])
    }

    func deadLetters(_ code: String) -> Counter {
        metrics.counter(
            "flotilla_scheduler_dead_letters_total", help: "records sent to the dead letters, by reason",
            labels: ["code": code])
    }
}
