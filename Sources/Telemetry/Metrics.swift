internal import Synchronization

/// The numbers of one process, in the text format that Prometheus reads.
///
/// Names and labels are part of the program: a wrong one is a mistake of ours and traps. Instruments
/// are asked for once, at start, and used per batch, never per message.
package final class Metrics: Sendable {
    /// Series of one name; beyond it new label values share the series `other`, so that a label that
    /// grows with the data cannot fill the memory.
    package static let seriesPerNameMax = 1000

    private let families = Mutex<[String: Family]>([:])

    package init() {}

    /// A count that only grows; its name ends in `_total`.
    package func counter(_ name: String, help: String, labels: KeyValuePairs<String, String> = [:]) -> Counter
    {
        precondition(name.hasSuffix("_total"), "a counter's name ends in _total: \(name)")
        return series(name, help: help, kind: .counter, labels: labels) { .counter(Counter()) }.counter
    }

    /// A value that goes up and down.
    package func gauge(_ name: String, help: String, labels: KeyValuePairs<String, String> = [:]) -> Gauge {
        series(name, help: help, kind: .gauge, labels: labels) { .gauge(Gauge()) }.gauge
    }

    /// A value that is looked up when somebody asks. The closure must be quick and must not block.
    package func gauge(
        _ name: String, help: String, labels: KeyValuePairs<String, String> = [:],
        read: @escaping @Sendable () -> Double
    ) {
        _ = series(name, help: help, kind: .gauge, labels: labels) { .reading(read) }
    }

    /// How values are distributed; bounds in the unit of the name.
    package func histogram(
        _ name: String, help: String, bounds: [Double] = Histogram.secondsBounds,
        labels: KeyValuePairs<String, String> = [:]
    ) -> Histogram {
        series(name, help: help, kind: .histogram, labels: labels) { .histogram(Histogram(bounds: bounds)) }
            .histogram
    }

    private func series(
        _ name: String, help: String, kind: Family.Kind, labels: KeyValuePairs<String, String>,
        make: () -> Instrument
    ) -> Instrument {
        precondition(Family.isName(name), "metric names are flotilla_ or process_ and lower case: \(name)")
        precondition(!help.isEmpty, "a metric without help: \(name)")
        return families.withLock { families in
            var family = families[name] ?? Family(name: name, help: help, kind: kind)
            precondition(family.kind == kind, "\(name) is registered as a \(family.kind.rawValue)")
            defer { families[name] = family }
            return family.instrument(labels.map { ($0.key, $0.value) }, make: make)
        }
    }

    /// What one series of a name says.
    package struct Value: Sendable, Hashable {
        package let labels: [String: String]
        package let number: Double
    }

    /// What the series of a name say now; none of a histogram.
    package func values(of name: String) -> [Value] {
        families.withLock { $0[name] }?.values ?? []
    }

    /// Everything, sorted by name.
    package func render() -> String {
        let families = families.withLock { $0.values.sorted { $0.name < $1.name } }
        var out = ""
        for family in families { family.render(to: &out) }
        return out
    }
}
