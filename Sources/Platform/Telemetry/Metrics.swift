internal import Synchronization

/// The metrics of one process, in the text format of Prometheus.
///
/// Names and labels are part of the program, so a wrong one traps. Request instruments once at the start, and
/// use them per batch, never per message.
package final class Metrics: Sendable {
    /// The maximum number of series per name. Beyond it, new label values share the series `other`, so that a
    /// label that grows with the data cannot fill the memory.
    package static let seriesPerNameMax = 1000

    private let families = Mutex<[String: MetricFamily]>([:])

    package init() {}

    /// Returns the counter of one series, a count that only grows. Its name must end in `_total`.
    package func counter(_ name: String, help: String, labels: KeyValuePairs<String, String> = [:]) -> Counter
    {
        precondition(name.hasSuffix("_total"), "a counter's name ends in _total: \(name)")
        return makeInstrument(named: name, help: help, type: .counter, labels: labels) { .counter(Counter()) }
            .counter
    }

    /// Returns the gauge of one series, a value that goes up and down.
    package func gauge(_ name: String, help: String, labels: KeyValuePairs<String, String> = [:]) -> Gauge {
        makeInstrument(named: name, help: help, type: .gauge, labels: labels) { .gauge(Gauge()) }.gauge
    }

    /// Registers a value that is read for each scrape. The closure must be quick and must not block.
    package func gauge(
        _ name: String, help: String, labels: KeyValuePairs<String, String> = [:],
        read: @escaping @Sendable () -> Double
    ) {
        _ = makeInstrument(named: name, help: help, type: .gauge, labels: labels) { .callback(read) }
    }

    /// Returns the histogram of one series, with bounds in the unit of the name.
    package func histogram(
        _ name: String, help: String, bounds: [Double] = Histogram.secondsBounds,
        labels: KeyValuePairs<String, String> = [:]
    ) -> Histogram {
        makeInstrument(named: name, help: help, type: .histogram, labels: labels) {
            .histogram(Histogram(bounds: bounds))
        }
        .histogram
    }

    private func makeInstrument(
        named name: String, help: String, type: MetricFamily.MetricType,
        labels: KeyValuePairs<String, String>,
        make: () -> Instrument
    ) -> Instrument {
        precondition(
            MetricFamily.isName(name),
            "a metric name begins with flotilla_ or process_, in lower case: \(name)")
        precondition(!help.isEmpty, "a metric without help: \(name)")
        return families.withLock { families in
            var family = families[name] ?? MetricFamily(name: name, help: help, type: type)
            precondition(family.type == type, "\(name) is registered as a \(family.type.rawValue)")
            defer { families[name] = family }
            return family.instrument(labels: labels.map { ($0.key, $0.value) }, make: make)
        }
    }

    /// The current value of one series.
    package struct SeriesValue: Sendable, Hashable {
        package let labels: [String: String]
        package let number: Double
    }

    /// Returns the current values of a name's series, or nothing for a histogram.
    package func values(of name: String) -> [SeriesValue] {
        families.withLock { $0[name] }?.values ?? []
    }

    /// Returns all metrics, sorted by name.
    package func render() -> String {
        let families = families.withLock { $0.values.sorted { $0.name < $1.name } }
        var out = ""
        for family in families { family.render(to: &out) }
        return out
    }
}
