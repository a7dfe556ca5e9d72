internal import Telemetry

/// What the simulator's journal says to Prometheus.
struct JournalMetrics {
    private let byClass: [Counter]
    private let reset: Counter
    private let notProcessed: Counter
    private let silent: Counter
    private let delivered: Counter
    private let doubled: Gauge

    init(_ metrics: Metrics) {
        func requests(_ outcome: String) -> Counter {
            metrics.counter(
                "flotilla_apns_simulator_requests_total",
                help: "requests to the simulated APNs, by what became of them", labels: ["outcome": outcome])
        }
        byClass = (2...5).map { requests("\($0)xx") }
        reset = requests("reset")
        notProcessed = requests("not_processed")
        silent = requests("silence")
        delivered = metrics.counter(
            "flotilla_apns_simulator_delivered_total", help: "pushes that the simulated phones were given")
        doubled = metrics.gauge(
            "flotilla_apns_simulator_doubled_pushes",
            help: "pushes that were answered 200 although their apns-id had been before")
    }

    func count(_ entries: [JournalRing.Numbered], _ summary: JournalSummary) {
        var classes = [0, 0, 0, 0]
        var resets = 0
        var unprocessed = 0
        var silences = 0
        var deliveries = 0
        for numbered in entries {
            switch numbered.entry.end {
            case .answered(let status, _, _): classes[min(max(status / 100, 2), 5) - 2] += 1
            case .reset: resets += 1
            case .notProcessed: unprocessed += 1
            case .silence: silences += 1
            }
            if numbered.entry.isDelivered { deliveries += 1 }
        }
        for (counter, count) in zip(byClass, classes) { counter.add(count) }
        reset.add(resets)
        notProcessed.add(unprocessed)
        silent.add(silences)
        delivered.add(deliveries)
        doubled.set(Double(summary.doubledPushes))
    }
}
