internal import Telemetry

/// What the simulator's journal says to Prometheus, told once a turn.
struct JournalMetrics {
    private static let classes = 2...5

    /// By the hundreds of the status.
    private var answered: [Pending]
    private var reset: Pending
    private var notProcessed: Pending
    private var silent: Pending
    private var delivered: Pending
    private let doubled: Gauge

    /// A counter, and what it has not been told yet.
    private struct Pending {
        let counter: Counter
        var count = 0

        init(_ counter: Counter) { self.counter = counter }

        mutating func tell() {
            if count > 0 { counter.add(count) }
            count = 0
        }
    }

    init(_ metrics: Metrics) {
        func requests(_ outcome: String) -> Pending {
            Pending(
                metrics.counter(
                    "flotilla_apns_simulator_requests_total",
                    help: "requests to the simulated APNs, by what became of them",
                    labels: ["outcome": outcome]))
        }
        answered = Self.classes.map { requests("\($0)xx") }
        reset = requests("reset")
        notProcessed = requests("not_processed")
        silent = requests("silence")
        delivered = Pending(
            metrics.counter(
                "flotilla_apns_simulator_delivered_total", help: "pushes that the simulated phones were given"
            ))
        doubled = metrics.gauge(
            "flotilla_apns_simulator_doubled_pushes",
            help: "pushes that were answered 200 although their apns-id had been before")
    }

    mutating func count(_ entry: JournalEntry) {
        switch entry.end {
        case .answered(let status, _, _):
            let hundreds = min(max(status / 100, Self.classes.lowerBound), Self.classes.upperBound)
            answered[hundreds - Self.classes.lowerBound].count += 1
        case .reset: reset.count += 1
        case .notProcessed: notProcessed.count += 1
        case .silence: silent.count += 1
        }
        if entry.isDelivered { delivered.count += 1 }
    }

    mutating func tell(doubledPushes: Int) {
        for index in answered.indices { answered[index].tell() }
        reset.tell()
        notProcessed.tell()
        silent.tell()
        delivered.tell()
        doubled.set(Double(doubledPushes))
    }
}
