internal import StageSupport
internal import Telemetry

/// The planner's own metrics, beside the metrics of all loops of the stage. They are created once and used
/// for every batch.
struct PlannerMetrics {
    let stage: StageMetrics
    let clockDoubtSeconds: Gauge
    private let metrics: Metrics
    let heldSends: Gauge
    let supersededNotes: Counter
    let replies: Counter
    let forgottenRows: Counter
    let unstoredSubscriptions: Counter

    init(_ metrics: Metrics) {
        self.metrics = metrics
        var names = StageMetrics.Names(stage: "fan_out", records: "records", view: "groups", rows: "groups")
        (names.loopLabel, names.restoreViewLabel) = ("planner", "groups")
        stage = StageMetrics(metrics: metrics, names: names)
        clockDoubtSeconds = FanOutMetrics.clockDoubtSeconds(metrics, loop: "planner")
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
