internal import Lifecycle
internal import Telemetry

/// The broker's metrics. Confined to the loop, except for the instruments, which are thread-safe.
final class BrokerMetrics {
    let receivedBytes: Counter
    let sentBytes: Counter
    let malformedRequests: Counter
    let connections: Gauge
    let parkedFetches: Gauge
    let partitions: Gauge
    let oldestTransactionSeconds: Gauge
    let unmarkedTransactions: Gauge
    let clockLeadSeconds: Gauge
    let unsentBytes: Gauge
    let setAsideFiles: Gauge
    let appendSeconds: Histogram
    private let metrics: Metrics
    /// By API key.
    private var answersByAPI: [Int16: AnswerInstruments] = [:]

    /// The number of answers to one API, and the time from a request's arrival to its answer.
    private struct AnswerInstruments {
        let count: Counter
        let seconds: Histogram
    }

    init(metrics: Metrics) {
        self.metrics = metrics
        receivedBytes = metrics.counter(
            "flotilla_broker_received_bytes_total", help: "Bytes received from clients.")
        sentBytes = metrics.counter("flotilla_broker_sent_bytes_total", help: "Bytes of answers to clients.")
        malformedRequests = metrics.counter(
            "flotilla_broker_malformed_requests_total",
            help: "Connections closed because they sent something that is not a request.")
        connections = metrics.gauge("flotilla_broker_connections", help: "Open client connections.")
        parkedFetches = metrics.gauge(
            "flotilla_broker_parked_fetches", help: "Fetch requests that wait for records.")
        partitions = metrics.gauge("flotilla_broker_partitions", help: "Partitions of all topics.")
        oldestTransactionSeconds = metrics.gauge(
            "flotilla_broker_oldest_transaction_seconds",
            help: "Age of the oldest transaction that is not ended; committed readers wait behind it.")
        unmarkedTransactions = metrics.gauge(
            "flotilla_broker_unmarked_transactions",
            help: "Decided transactions with a marker that could not be written yet; it is tried again.")
        clockLeadSeconds = metrics.gauge(
            "flotilla_broker_clock_lead_seconds",
            help: "Jump of the machine's clock that is not believed yet; nothing expires by it.")
        unsentBytes = metrics.gauge(
            "flotilla_broker_unsent_bytes", help: "Bytes of answers that wait for their clients to read.")
        setAsideFiles = metrics.gauge(
            "flotilla_broker_set_aside_files",
            help: "Files *.cut and *.damaged that no log reads; look at them and delete them.")
        appendSeconds = metrics.histogram(
            "flotilla_broker_append_seconds", help: "Time to append one produce request to the logs.",
            bounds: [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1])
    }

    /// Counts an answer that leaves now.
    func observe(_ exchange: RequestExchange, now: Instant) {
        let key = exchange.header.key
        let instruments = answersByAPI[key] ?? registerInstruments(key: key)
        instruments.count.add()
        instruments.seconds.observe(now.seconds(since: exchange.arrival))
    }

    private func registerInstruments(key: Int16) -> AnswerInstruments {
        let name = APIKey(rawValue: key).map { "\($0)" } ?? "unknown"
        let instruments = AnswerInstruments(
            count: metrics.counter(
                "flotilla_broker_requests_total", help: "Answered requests.", labels: ["api": name]),
            seconds: metrics.histogram(
                "flotilla_broker_request_seconds", help: "From a request's arrival to its answer.",
                labels: ["api": name]))
        answersByAPI[key] = instruments
        return instruments
    }
}
