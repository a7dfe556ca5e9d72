internal import LiveActivity
internal import StageSupport
internal import Telemetry

/// The expander's own metrics, beside the metrics of all loops of the stage. Created once, used for every
/// transaction.
struct ExpanderMetrics {
    let stage: StageMetrics
    let clockDoubtSeconds: Gauge
    private let metrics: Metrics
    let jobs: Counter
    let age: SendAge
    let sheets: Counter
    let caughtUp: Counter
    let safetyEnds: Counter
    let enquiries: Counter
    let pageRows: Gauge

    init(_ metrics: Metrics) {
        self.metrics = metrics
        var names = StageMetrics.Names(
            stage: "fan_out", records: "records", view: "starts", rows: "rows of starts")
        (names.loop, names.restored) = ("expander", "lane")
        (names.overlay, names.blocked) = ("starts_overlay_rows", "lanes_blocked")
        stage = StageMetrics(metrics, names)
        clockDoubtSeconds = FanOutMetrics.clockDoubtSeconds(metrics, loop: "expander")
        jobs = metrics.counter("flotilla_fan_out_jobs_total", help: "jobs committed")
        age = SendAge(metrics: metrics, step: .expanded)
        sheets = metrics.counter("flotilla_fan_out_sheets_total", help: "sheets of jobs committed")
        caughtUp = metrics.counter(
            "flotilla_fan_out_late_jobs_total", help: "jobs for tokens that arrived after their send")
        safetyEnds = metrics.counter(
            "flotilla_fan_out_safety_ends_total",
            help: "jobs that ended an activity shortly before the system would have ended it")
        enquiries = metrics.counter(
            "flotilla_fan_out_group_state_requests_total",
            help: "requests of lanes to the planner for a group's newest state, after a member appeared")
        pageRows = metrics.gauge(
            "flotilla_fan_out_page_rows", help: "the current limit of tokens in a transaction")
    }

    func dropped(_ reason: String) -> Counter {
        metrics.counter(
            "flotilla_fan_out_left_out_total",
            help: "tokens of finished expansions without a job, by reason", labels: ["reason": reason])
    }

    func count(_ tally: LaneTally) {
        if tally.dropped > 0 { dropped("superseded").add(tally.dropped) }
        for (reason, count) in tally.excludedByReason { dropped(reason).add(count) }
    }
}
