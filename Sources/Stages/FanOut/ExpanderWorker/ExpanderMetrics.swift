internal import Sends
internal import StageSupport
internal import Telemetry

/// The expander's own metrics, beside the metrics of all loops of the stage. Created once, used for every
/// transaction.
struct ExpanderMetrics {
    let stage: StageMetrics
    let clockDoubtSeconds: Gauge
    private let metrics: Metrics
    let jobs: Counter
    let sendAge: SendAge
    let sheets: Counter
    let lateJobs: Counter
    let safetyEnds: Counter
    let subscriptions: Counter

    init(_ metrics: Metrics) {
        self.metrics = metrics
        var names = StageMetrics.Names(
            stage: "fan_out", records: "records", view: "starts", rows: "rows of starts")
        (names.loopLabel, names.restoreViewLabel) = ("expander", "lane")
        (names.overlayRowsName, names.blockedPartitionsName) = ("starts_overlay_rows", "lanes_blocked")
        stage = StageMetrics(metrics: metrics, names: names)
        clockDoubtSeconds = FanOutMetrics.clockDoubtSeconds(metrics, loop: "expander")
        jobs = metrics.counter("flotilla_fan_out_jobs_total", help: "jobs committed")
        sendAge = SendAge(metrics: metrics, step: .expanded)
        sheets = metrics.counter("flotilla_fan_out_sheets_total", help: "sheets of jobs committed")
        lateJobs = metrics.counter(
            "flotilla_fan_out_late_jobs_total", help: "jobs for tokens that arrived after their send")
        safetyEnds = metrics.counter(
            "flotilla_fan_out_safety_ends_total",
            help: "jobs that ended an activity shortly before the system would have ended it")
        subscriptions = metrics.counter(
            "flotilla_fan_out_subscriptions_total",
            help: "subscriptions of lanes to groups, written when the first member of a group appears")
    }

    func tokensWithoutJob(reason: String) -> Counter {
        metrics.counter(
            "flotilla_fan_out_left_out_total",
            help: "tokens of finished expansions without a job, by reason", labels: ["reason": reason])
    }

    func count(_ tally: LaneTally) {
        if tally.dropped > 0 { tokensWithoutJob(reason: "superseded").add(tally.dropped) }
        for (reason, count) in tally.excludedByReason { tokensWithoutJob(reason: reason).add(count) }
    }
}
