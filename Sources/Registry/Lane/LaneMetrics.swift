package import Telemetry

/// What the lanes of one process count, together.
package struct LaneMetrics: Sendable {
    private let records: Counter
    private let refusals: Counter

    package init(_ metrics: Metrics) {
        let name = "flotilla_registry_records_total"
        let help = "Records of the registry topic taken into lanes, by what became of them."
        records = metrics.counter(name, help: help, labels: ["outcome": "applied"])
        refusals = metrics.counter(name, help: help, labels: ["outcome": "refused"])
    }

    func applied(_ count: Int) { records.add(count) }
    func refused() { refusals.add(1) }
}
