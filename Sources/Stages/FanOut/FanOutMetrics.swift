internal import Sends
internal import StageSupport
internal import Telemetry

// The metrics of the two kinds of loop, beside those of all stages. They are created once.

struct PlannerMetrics {
    let stage: StageMetrics
    let clockDoubtSeconds: Gauge
    let heldSends: Gauge
    let supersededNotes: Counter
    let replies: Counter
    let unstoredSubscriptions: Counter
    let forgottenRows: Counter
    private let metrics: Metrics

    init(_ metrics: Metrics) {
        self.metrics = metrics
        var names = StageMetrics.Names(stage: "fan_out", records: "records", view: "groups", rows: "groups")
        (names.loopLabel, names.restoreViewLabel) = ("planner", "groups")
        stage = StageMetrics(metrics: metrics, names: names)
        clockDoubtSeconds = metrics.clockDoubtSeconds(ofLoop: "planner")
        heldSends = metrics.gauge(
            "flotilla_fan_out_held_sends",
            help: "sends that wait so that their timestamp is not too far ahead of the clock")
        supersededNotes = metrics.counter(
            "flotilla_fan_out_superseded_notes_total", help: "notes to senders about superseded sends")
        replies = metrics.counter(
            "flotilla_fan_out_replies_total", help: "verdicts that were sent to waiting gateways")
        unstoredSubscriptions = metrics.counter(
            "flotilla_fan_out_unstored_subscriptions_total",
            help:
                "subscriptions to groups beyond fan-out.subscribed-groups; sends to such groups go to all lanes"
        )
        forgottenRows = metrics.counter(
            "flotilla_fan_out_forgotten_rows_total",
            help: "rows of groups and of seen sends that were forgotten")
    }

    func sends(withVerdict verdict: String) -> Counter {
        metrics.counter(
            "flotilla_fan_out_verdicts_total", help: "sends, by the planner's verdict",
            labels: ["verdict": verdict])
    }
}

struct ExpanderMetrics {
    let stage: StageMetrics
    let clockDoubtSeconds: Gauge
    let jobs: Counter
    let sendAge: SendAge
    let sheets: Counter
    let lateJobs: Counter
    let safetyEnds: Counter
    let subscriptions: Counter
    private let metrics: Metrics

    init(_ metrics: Metrics) {
        self.metrics = metrics
        var names = StageMetrics.Names(
            stage: "fan_out", records: "records", view: "starts", rows: "rows of starts")
        (names.loopLabel, names.restoreViewLabel) = ("expander", "lane")
        (names.overlayRowsName, names.blockedPartitionsName) = ("starts_overlay_rows", "lanes_blocked")
        stage = StageMetrics(metrics: metrics, names: names)
        clockDoubtSeconds = metrics.clockDoubtSeconds(ofLoop: "expander")
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

    func count(_ tally: LaneTally) {
        if tally.dropped > 0 { tokensWithoutJob(reason: "superseded").add(tally.dropped) }
        for (reason, count) in tally.excludedByReason { tokensWithoutJob(reason: reason).add(count) }
    }

    private func tokensWithoutJob(reason: String) -> Counter {
        metrics.counter(
            "flotilla_fan_out_left_out_total",
            help: "tokens of finished expansions without a job, by reason", labels: ["reason": reason])
    }
}

extension Metrics {
    fileprivate func clockDoubtSeconds(ofLoop loop: String) -> Gauge {
        gauge(
            "flotilla_fan_out_clock_doubt_seconds",
            help: "difference between the clocks of brokers and machine while the stage doubts them",
            labels: ["loop": loop])
    }
}
