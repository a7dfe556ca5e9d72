/// A metric family of Prometheus: one metric name with its series, one per combination of label values.
struct MetricFamily {
    enum MetricType: String { case counter, gauge, histogram }

    let name: String
    let help: String
    let type: MetricType
    /// The series by their rendered labels, `app="x",code="200"`.
    private var series: [String: Series] = [:]

    private struct Series {
        let labels: [String: String]
        let instrument: Instrument
    }

    init(name: String, help: String, type: MetricType) {
        self.name = name
        self.help = help
        self.type = type
    }

    static func isName(_ name: String) -> Bool {
        let hasPrefix = name.hasPrefix("flotilla_") || name.hasPrefix("process_")
        return hasPrefix && name.utf8.allSatisfy(isNameCharacter)
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Returns the instrument of the series with these labels, and makes it with `make` if it is missing.
    /// Beyond the limit of series, all label values become `other`.
    mutating func instrument(labels: [(String, String)], make: () -> Instrument) -> Instrument {
        var labels = labels
        var key = Self.rendered(labels)
        if series[key] == nil, series.count >= Metrics.seriesPerNameMax {
            labels = labels.map { name, _ in (name, "other") }
            key = Self.rendered(labels)
        }
        if let existing = series[key] { return existing.instrument }
        let instrument = make()
        series[key] = Series(
            labels: Dictionary(labels) { first, _ in first }, instrument: instrument)
        return instrument
    }

    /// The current values of its gauges and counters.
    var values: [Metrics.SeriesValue] {
        series.sorted { $0.key < $1.key }.compactMap { _, entry -> Metrics.SeriesValue? in
            let number: Double
            switch entry.instrument {
            case .counter(let counter): number = Double(counter.value)
            case .gauge(let gauge): number = gauge.value
            case .callback(let read): number = read()
            case .histogram: return nil
            }
            return Metrics.SeriesValue(labels: entry.labels, number: number)
        }
    }

    private static func rendered(_ labels: [(String, String)]) -> String {
        labels.map { name, value in "\(name)=\"\(escaped(value))\"" }.joined(separator: ",")
    }

    private static func escaped(_ value: String) -> String {
        var out = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": out += "\\\\"
            case "\"": out += "\\\""
            case "\n": out += "\\n"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    /// Appends the family in the text format of Prometheus.
    func render(to out: inout String) {
        out += "# HELP \(name) \(help)\n# TYPE \(name) \(type.rawValue)\n"
        for (labels, entry) in series.sorted(by: { $0.key < $1.key }) {
            switch entry.instrument {
            case .counter(let counter): out += line(name, labels: labels, value: Double(counter.value))
            case .gauge(let gauge): out += line(name, labels: labels, value: gauge.value)
            case .callback(let read): out += line(name, labels: labels, value: read())
            case .histogram(let histogram): render(histogram, labels: labels, to: &out)
            }
        }
    }

    private func render(_ histogram: Histogram, labels: String, to out: inout String) {
        let snapshot = histogram.snapshot
        let prefix = labels.isEmpty ? "" : labels + ","
        var cumulative = 0
        for (bound, count) in zip(histogram.bounds, snapshot.counts) {
            cumulative += count
            out += line(
                name + "_bucket", labels: "\(prefix)le=\"\(Self.number(bound))\"", value: Double(cumulative))
        }
        let total = snapshot.counts.reduce(0, +)
        out += line(name + "_bucket", labels: "\(prefix)le=\"+Inf\"", value: Double(total))
        out += line(name + "_sum", labels: labels, value: snapshot.sum)
        out += line(name + "_count", labels: labels, value: Double(total))
    }

    private func line(_ name: String, labels: String, value: Double) -> String {
        labels.isEmpty ? "\(name) \(Self.number(value))\n" : "\(name){\(labels)} \(Self.number(value))\n"
    }

    private static func number(_ value: Double) -> String {
        if let integer = Int(exactly: value) { return String(integer) }
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return "\(value)"
    }
}
