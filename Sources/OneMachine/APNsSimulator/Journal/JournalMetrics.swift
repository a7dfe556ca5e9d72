internal import Telemetry

/// Metrics of the simulator's journal, updated once per turn.
struct JournalMetrics {
    private static let classes = 2...5

    /// Counters by the first digit of the status.
    private var answered: [Pending]
    private var reset: Pending
    private var notProcessed: Pending
    private var silent: Pending
    private var delivered: Pending
    private let doubled: Gauge

    /// A counter and the amount that is not added to it yet.
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
                    help: "Requests to the simulated APNs, by outcome.",
                    labels: ["outcome": outcome]))
        }
        answered = Self.classes.map { requests("\($0)xx") }
        reset = requests("reset")
        notProcessed = requests("not_processed")
        silent = requests("silence")
        delivered = Pending(
            metrics.counter(
                "flotilla_apns_simulator_delivered_total", help: "Pushes delivered to the simulated phones."
            ))
        doubled = metrics.gauge(
            "flotilla_apns_simulator_doubled_pushes",
            help: "Pushes answered 200 whose apns-id was already answered 200.")
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
