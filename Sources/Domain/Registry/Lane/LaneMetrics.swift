package import Telemetry

/// The counters of all lanes in one process: records of the topic `registry` that were written to the tables
/// (`applied`), and records that could not be read (`refused`).
package struct LaneMetrics: Sendable {
    private let records: Counter
    private let refusals: Counter

    package init(_ metrics: Metrics) {
        let name = "flotilla_registry_records_total"
        let help = "records of the registry topic that lanes read, by outcome"
        records = metrics.counter(name, help: help, labels: ["outcome": "applied"])
        refusals = metrics.counter(name, help: help, labels: ["outcome": "refused"])
    }

    func countApplied(_ count: Int) { records.add(count) }
    func countRefused() { refusals.add(1) }
}
