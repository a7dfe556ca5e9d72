internal import Telemetry

/// Metrics of the simulator's journal. `count` counts each request without an atomic operation, and `update`
/// adds the counts to the metrics once per iteration of the loop.
struct JournalMetrics {
    /// First digits of the status codes that are distinguished.
    private static let statusClasses = 2...5

    /// Counters of answers by the first digit of the status.
    private var answered: [PendingCounter]
    private var reset: PendingCounter
    private var notProcessed: PendingCounter
    private var silent: PendingCounter
    private var delivered: PendingCounter
    private let duplicates: Gauge

    /// A counter and the amount that is not added to it yet.
    private struct PendingCounter {
        let counter: Counter
        var count = 0

        init(counter: Counter) { self.counter = counter }

        mutating func flush() {
            if count > 0 { counter.add(count) }
            count = 0
        }
    }

    init(metrics: Metrics) {
        func requests(outcome: String) -> PendingCounter {
            PendingCounter(
                counter: metrics.counter(
                    "flotilla_apns_simulator_requests_total",
                    help: "Requests to the simulated APNs, by outcome.",
                    labels: ["outcome": outcome]))
        }
        answered = Self.statusClasses.map { requests(outcome: "\($0)xx") }
        reset = requests(outcome: "reset")
        notProcessed = requests(outcome: "not_processed")
        silent = requests(outcome: "silence")
        delivered = PendingCounter(
            counter: metrics.counter(
                "flotilla_apns_simulator_delivered_total", help: "Pushes delivered to the simulated phones."
            ))
        duplicates = metrics.gauge(
            "flotilla_apns_simulator_duplicate_pushes",
            help: "Pushes answered 200 whose apns-id was already answered 200.")
    }

    /// Counts a request by its outcome.
    mutating func count(_ entry: JournalEntry) {
        switch entry.outcome {
        case .answered(let status, _, _):
            let classes = Self.statusClasses
            let statusClass = min(max(status / 100, classes.lowerBound), classes.upperBound)
            answered[statusClass - classes.lowerBound].count += 1
        case .reset: reset.count += 1
        case .notProcessed: notProcessed.count += 1
        case .silence: silent.count += 1
        }
        if entry.isDelivered { delivered.count += 1 }
    }

    /// Adds the counts to the metrics.
    mutating func update(duplicatePushes: Int) {
        for index in answered.indices { answered[index].flush() }
        reset.flush()
        notProcessed.flush()
        silent.flush()
        delivered.flush()
        duplicates.set(Double(duplicatePushes))
    }
}
