/// One metric name with its series, one per combination of label values.
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
        (name.hasPrefix("flotilla_") || name.hasPrefix("process_"))
            && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }

    mutating func instrument(labels: [(String, String)], make: () -> Instrument) -> Instrument {
        var (key, labels) = (Self.rendered(labels), labels)
        if series[key] == nil, series.count >= Metrics.seriesPerNameMax {
            labels = labels.map { ($0.0, "other") }
            key = Self.rendered(labels)
        }
        if let known = series[key] { return known.instrument }
        let instrument = make()
        series[key] = Series(
            labels: Dictionary(labels) { first, _ in first }, instrument: instrument)
        return instrument
    }

    /// The present values of its gauges and counters.
    var values: [Metrics.SeriesValue] {
        series.sorted { $0.key < $1.key }.compactMap { _, one in
            switch one.instrument {
            case .counter(let counter): Metrics.SeriesValue(labels: one.labels, number: Double(counter.value))
            case .gauge(let gauge): Metrics.SeriesValue(labels: one.labels, number: gauge.value)
            case .callback(let read): Metrics.SeriesValue(labels: one.labels, number: read())
            case .histogram: nil
            }
        }
    }

    private static func rendered(_ labels: [(String, String)]) -> String {
        labels.map { "\($0.0)=\"\(escaped($0.1))\"" }.joined(separator: ",")
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

    func render(to out: inout String) {
        out += "# HELP \(name) \(help)\n# TYPE \(name) \(type.rawValue)\n"
        for (labels, one) in series.sorted(by: { $0.key < $1.key }) {
            switch one.instrument {
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
        if let whole = Int(exactly: value) { return String(whole) }
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return "\(value)"
    }
}

enum Instrument {
    case counter(Counter)
    case gauge(Gauge)
    case callback(@Sendable () -> Double)
    case histogram(Histogram)

    var counter: Counter {
        guard case .counter(let counter) = self else { preconditionFailure("not a counter") }
        return counter
    }

    var gauge: Gauge {
        guard case .gauge(let gauge) = self else { preconditionFailure("not a gauge that is set") }
        return gauge
    }

    var histogram: Histogram {
        guard case .histogram(let histogram) = self else { preconditionFailure("not a histogram") }
        return histogram
    }
}
