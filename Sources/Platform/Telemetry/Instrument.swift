/// The object that holds the value of one series. The properties trap if the series is of another kind.
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
