package import Telemetry

/// The metrics that every loop has. They are created once and used for every batch.
package struct StageMetrics {
    /// The words and labels in which the metrics of one loop differ from those of other loops.
    package struct Names: Sendable {
        /// The stage's name as a part of a metric's name, such as `fan_out`.
        package let stage: String
        /// The name of the input in help texts, such as `orders`.
        package let records: String
        /// The table of the view, and the name of its rows in help texts.
        package let view: String
        package let rows: String
        /// The kind of the loop, if the stage has several. It is a label.
        package var loopLabel: String?
        /// The label of the time to restore, if the stage has several loops.
        package var restoreViewLabel: String?
        package var overlayRowsName = "overlay_rows"
        package var blockedPartitionsName = "partitions_blocked"

        package init(stage: String, records: String, view: String, rows: String) {
            self.stage = stage
            self.records = records
            self.view = view
            self.rows = rows
        }
    }

    package let names: Names
    private let metrics: Metrics
    /// The time from reading a batch to its commit.
    package let batchSeconds: Histogram
    package let inFlight: Gauge
    /// The age of the oldest waiting input. Each stage says what waits.
    package let oldestSeconds: Gauge
    package let startedOver: Counter
    package let restoreSeconds: Histogram
    package let overlayRows: Gauge
    package let blockedPartitions: Gauge
    package let views: TopicViewMetrics

    package init(metrics: Metrics, names: Names, oldestHelp: String? = nil) {
        self.names = names
        self.metrics = metrics
        let prefix = "flotilla_\(names.stage)_"
        let labels: KeyValuePairs<String, String> =
            if let loop = names.loopLabel { ["loop": loop] } else { [:] }
        let restoreLabels: KeyValuePairs<String, String> =
            if let view = names.restoreViewLabel { ["view": view] } else { [:] }
        batchSeconds = metrics.histogram(
            prefix + "batch_seconds", help: "time from reading a batch to its commit", labels: labels)
        inFlight = metrics.gauge(
            prefix + "in_flight", help: "records read and not yet committed", labels: labels)
        oldestSeconds = metrics.gauge(
            prefix + "oldest_seconds",
            help: oldestHelp ?? "age of the oldest record that is not yet committed",
            labels: labels)
        startedOver = metrics.counter(
            prefix + "started_over_total",
            help: "batches that were not committed and are read again from the committed offsets",
            labels: labels)
        restoreSeconds = metrics.histogram(
            prefix + "restore_seconds",
            help: "time from the assignment of a partition until its view is complete", labels: restoreLabels)
        overlayRows = metrics.gauge(
            prefix + names.overlayRowsName,
            help: "\(names.rows) committed and not yet read back into the view")
        blockedPartitions = metrics.gauge(
            prefix + names.blockedPartitionsName,
            help: "partitions whose records wait: their view is not writable, or their offset is out of range"
        )
        views = TopicViewMetrics(
            metrics: metrics, table: names.view, viewsName: prefix + "views_total",
            appliedOffsetName: prefix + "applied_offset")
        // The series exists from the start, because `increase` does not count the first value of a new series.
        _ = deadLetters(withCode: RejectedRecord.emptyValue(expected: "").code)
    }

    package func records(withOutcome outcome: String) -> Counter {
        counter(named: "records_total", help: "\(names.records), by outcome", label: ("outcome", outcome))
    }

    package func deadLetters(withCode code: String) -> Counter {
        counter(
            named: "dead_letters_total", help: "records sent to the dead letters, by reason",
            label: ("code", code))
    }

    package func produced(to topic: String) -> Counter {
        counter(named: "produced_total", help: "records committed, by topic", label: ("topic", topic))
    }

    private func counter(named name: String, help: String, label: (name: String, value: String)) -> Counter {
        let labels: KeyValuePairs<String, String> =
            if let loop = names.loopLabel {
                ["loop": loop, label.name: label.value]
            } else {
                [label.name: label.value]
            }
        return metrics.counter("flotilla_\(names.stage)_\(name)", help: help, labels: labels)
    }
}
