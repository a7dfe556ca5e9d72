internal import Store
package import Telemetry

/// The metrics of a loop's views, with names of the loop's stage.
package struct TopicViewMetrics {
    private let metrics: Metrics
    private let views: String
    private let applied: String
    private let table: String

    /// - Parameters:
    ///   - views: the name of the counter of opened views.
    ///   - applied: the name of the gauge of the next offsets that the views need.
    package init(_ metrics: Metrics, of table: String, views: String, applied: String) {
        self.metrics = metrics
        self.views = views
        self.applied = applied
        self.table = table
    }

    func opened(_ beginning: OpeningState) {
        let label =
            switch beginning {
            case .empty: "empty"
            case .resumed: "resumed"
            case .discarded: "discarded"
            }
        metrics.counter(
            views, help: "opened views, by the state of their files",
            labels: ["view": table, "beginning": label]
        ).add()
    }

    func applied(_ partition: Int32) -> Gauge {
        metrics.gauge(
            applied, help: "the offset of the next record that a view needs",
            labels: ["view": table, "partition": String(partition)])
    }
}
