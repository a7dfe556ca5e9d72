internal import Store
package import Telemetry

/// The metrics of a loop's views, whose names begin with the name of the stage.
package struct TopicViewMetrics {
    private let metrics: Metrics
    private let viewsName: String
    private let appliedOffsetName: String
    private let table: String

    /// - Parameters:
    ///   - viewsName: the name of the counter of opened views.
    ///   - appliedOffsetName: the name of the gauge of the next offsets that the views need.
    package init(metrics: Metrics, table: String, viewsName: String, appliedOffsetName: String) {
        self.metrics = metrics
        self.viewsName = viewsName
        self.appliedOffsetName = appliedOffsetName
        self.table = table
    }

    /// Counts a view that was opened.
    func countOpenedView(_ state: OpeningState) {
        let label =
            switch state {
            case .empty: "empty"
            case .resumed: "resumed"
            case .discarded: "discarded"
            }
        metrics.counter(
            viewsName, help: "opened views, by the state of their files",
            labels: ["view": table, "beginning": label]
        ).add()
    }

    /// The gauge of a partition's view.
    func appliedOffset(of partition: Int32) -> Gauge {
        metrics.gauge(
            appliedOffsetName, help: "the offset of the next record that a view needs",
            labels: ["view": table, "partition": String(partition)])
    }
}
