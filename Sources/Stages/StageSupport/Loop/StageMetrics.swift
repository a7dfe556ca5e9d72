package import Telemetry

/// The metrics that every loop of a stage has. They are created once and used for every batch.
package struct StageMetrics {
    /// The words and labels in which the metrics of two loops differ.
    package struct Names: Sendable {
        /// The stage's name as a part of a metric's name, such as `fan_out`.
        package let stage: String
        /// The name of the input in help texts, such as `orders`.
        package let records: String
        /// The table of the view, and the name of its rows in help texts.
        package let view: String
        package let rows: String
        /// The kind of the loop, if the stage has several. It is a label.
        package var loop: String?
        /// The label of the time to restore, if the stage has several loops.
        package var restored: String?
        package var overlay = "overlay_rows"
        package var blocked = "partitions_blocked"

        package init(stage: String, records: String, view: String, rows: String) {
            self.stage = stage
            self.records = records
            self.view = view
            self.rows = rows
        }
    }

    package let names: Names
    private let metrics: Metrics
    package let batchSeconds: Histogram
    package let inFlight: Gauge
    /// The age of the oldest waiting input. Each stage says what waits.
    package let oldestSeconds: Gauge
    package let startedOver: Counter
    package let restoreSeconds: Histogram
    package let overlay: Gauge
    package let blocked: Gauge
    package let views: TopicViewMetrics

    package init(_ metrics: Metrics, _ names: Names, oldest: String? = nil) {
        self.names = names
        self.metrics = metrics
        let prefix = "flotilla_\(names.stage)_"
        let labels: KeyValuePairs<String, String> = if let loop = names.loop { ["loop": loop] } else { [:] }
        let restored: KeyValuePairs<String, String> =
            if let view = names.restored { ["view": view] } else { [:] }
        batchSeconds = metrics.histogram(
            prefix + "batch_seconds", help: "time from reading a batch to its commit", labels: labels)
        inFlight = metrics.gauge(
            prefix + "in_flight", help: "records read and not yet committed", labels: labels)
        oldestSeconds = metrics.gauge(
            prefix + "oldest_seconds", help: oldest ?? "age of the oldest record that is not yet committed",
            labels: labels)
        startedOver = metrics.counter(
            prefix + "started_over_total",
            help: "batches that were not committed and are read again from the committed offsets",
            labels: labels)
        restoreSeconds = metrics.histogram(
            prefix + "restore_seconds",
            help: "time from the assignment of a partition until its view is complete", labels: restored)
        overlay = metrics.gauge(
            prefix + names.overlay, help: "\(names.rows) committed and not yet read back into the view")
        blocked = metrics.gauge(
            prefix + names.blocked,
            help: "partitions whose records wait: their view is not writable, or their offset is out of range"
        )
        views = TopicViewMetrics(
            metrics, of: names.view, views: prefix + "views_total", applied: prefix + "applied_offset")
        // The series exists from the start, because `increase` does not count the first value of a new series.
        _ = deadLetters(RejectedRecord.emptyValue(expected: "").code)
    }

    package func records(_ outcome: String) -> Counter {
        counter("records_total", help: "\(names.records), by outcome", label: ("outcome", outcome))
    }

    package func deadLetters(_ code: String) -> Counter {
        counter(
            "dead_letters_total", help: "records sent to the dead letters, by reason", label: ("code", code))
    }

    package func produced(_ topic: String) -> Counter {
        counter("produced_total", help: "records committed, by topic", label: ("topic", topic))
    }

    private func counter(_ name: String, help: String, label: (name: String, value: String)) -> Counter {
        let labels: KeyValuePairs<String, String> =
            if let loop = names.loop {
                ["loop": loop, label.name: label.value]
            } else {
                [label.name: label.value]
            }
        return metrics.counter("flotilla_\(names.stage)_\(name)", help: help, labels: labels)
    }
}
