internal import Store
package import Telemetry

/// The numbers of a loop's views, under names of its stage.
package struct TopicViewMetrics {
    private let metrics: Metrics
    private let views: String
    private let applied: String
    private let table: String

    /// - Parameters:
    ///   - views: the name of the counter of views that were opened.
    ///   - applied: the name of the gauge of the offsets that they want next.
    package init(_ metrics: Metrics, of table: String, views: String, applied: String) {
        self.metrics = metrics
        self.views = views
        self.applied = applied
        self.table = table
    }

    func opened(_ beginning: Beginning) {
        let label =
            switch beginning {
            case .empty: "empty"
            case .resumed: "resumed"
            case .discarded: "discarded"
            }
        metrics.counter(
            views, help: "views opened, by how they began", labels: ["view": table, "beginning": label]
        ).add()
    }

    func applied(_ partition: Int32) -> Gauge {
        metrics.gauge(
            applied, help: "the next offset of its topic that a view wants",
            labels: ["view": table, "partition": String(partition)])
    }
}
