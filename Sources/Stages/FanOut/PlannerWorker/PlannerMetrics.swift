internal import StageSupport
internal import Telemetry

/// The planner's own metrics, beside the metrics of all loops of the stage. They are created once and used
/// for every batch.
struct PlannerMetrics {
    let shared: FanOutMetrics
    private let metrics: Metrics
    let overlay: Gauge
    let held: Gauge
    let restoreSeconds: Histogram
    let notes: Counter
    let forgotten: Counter
    let blocked: Gauge
    let views: TopicViewMetrics

    init(_ metrics: Metrics) {
        self.metrics = metrics
        shared = FanOutMetrics(metrics, loop: "planner")
        overlay = metrics.gauge(
            "flotilla_fan_out_overlay_rows", help: "groups committed and not yet read back into the view")
        held = metrics.gauge(
            "flotilla_fan_out_held_sends",
            help: "sends that wait so that their version is not ahead of the clock")
        restoreSeconds = metrics.histogram(
            "flotilla_fan_out_restore_seconds",
            help: "time from the assignment of a partition until its view is complete",
            labels: ["view": "groups"])
        notes = metrics.counter(
            "flotilla_fan_out_superseded_notes_total", help: "notes to senders about superseded sends")
        forgotten = metrics.counter(
            "flotilla_fan_out_forgotten_rows_total",
            help: "rows of groups and of seen sends that were forgotten")
        blocked = metrics.gauge(
            "flotilla_fan_out_partitions_blocked",
            help: "partitions whose sends wait: their view is not writable, or their offset is out of range")
        views = TopicViewMetrics(
            metrics, of: "groups", views: "flotilla_fan_out_views_total",
            applied: "flotilla_fan_out_applied_offset")
    }

    func verdicts(_ verdict: String) -> Counter {
        metrics.counter(
            "flotilla_fan_out_verdicts_total", help: "sends, by the planner's verdict",
            labels: ["verdict": verdict])
    }
}
