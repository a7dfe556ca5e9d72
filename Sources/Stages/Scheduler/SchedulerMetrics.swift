internal import StageSupport
internal import Telemetry

/// The metrics of the scheduler. They are created once and used for every batch.
struct SchedulerMetrics {
    /// The bounds of the buckets, in seconds.
    private static let latenessBounds: [Double] = [
        0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 3600,
    ]

    let stage: StageMetrics
    let latenessSeconds: Histogram
    let firedTimers: Counter
    let expiredTimers: Counter
    let waitingTimers: Gauge
    let clockDoubtful: Gauge
    let clockJumps: Counter

    init(_ metrics: Metrics) {
        stage = StageMetrics(
            metrics: metrics,
            names: .init(stage: "scheduler", records: "commands", view: "timers", rows: "timers"),
            oldestHelp: "delay of the timer that fires next; 0 while no timer is late")
        latenessSeconds = metrics.histogram(
            "flotilla_scheduler_lateness_seconds",
            help: "time from a timer's due time to the commit that fired it",
            bounds: Self.latenessBounds)
        firedTimers = metrics.counter(
            "flotilla_scheduler_fired_total", help: "timers that fired and wrote a send")
        expiredTimers = metrics.counter(
            "flotilla_scheduler_expired_total", help: "timers that expired because they were too late")
        waitingTimers = metrics.gauge(
            "flotilla_scheduler_timers",
            help: "waiting timers, plus idempotency keys, which are kept for a day")
        clockDoubtful = metrics.gauge(
            "flotilla_scheduler_clock_held",
            help: "1 while a clock has jumped and timers fire by the lower time")
        clockJumps = metrics.counter(
            "flotilla_scheduler_clock_jumps_total", help: "jumps of this machine's clock by more than 5 s")
    }
}
