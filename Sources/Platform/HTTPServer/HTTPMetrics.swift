internal import Telemetry

/// The metrics of one listener.
struct HTTPMetrics: Sendable {
    /// For the classes 2xx to 5xx, in this order.
    private let answers: [Counter]
    private let metrics: Metrics
    private let listener: String
    private static let refusalsName = "flotilla_http_refusals_total"

    init(metrics: Metrics, listener: String) {
        self.metrics = metrics
        self.listener = listener
        answers = (2...5).map { statusClass in
            metrics.counter(
                "flotilla_http_requests_total", help: "Requests answered, by the class of the status.",
                labels: ["listener": listener, "status": "\(statusClass)xx"])
        }
    }

    /// Registers gauges whose values the server returns.
    func registerGauges(
        connections: @escaping @Sendable () -> Int, bodyBytes: @escaping @Sendable () -> Int,
        answerBytes: @escaping @Sendable () -> Int
    ) {
        metrics.gauge(
            "flotilla_http_connections", help: "Open connections.", labels: ["listener": listener]
        ) { Double(connections()) }
        metrics.gauge(
            "flotilla_http_body_bytes", help: "Memory of incoming bodies in bytes.",
            labels: ["listener": listener]
        ) { Double(bodyBytes()) }
        metrics.gauge(
            "flotilla_http_answer_bytes", help: "Memory of answers until they were sent, in bytes.",
            labels: ["listener": listener]
        ) { Double(answerBytes()) }
    }

    func countAnswer(status: Int) { answers[status / 100 - 2].add() }

    /// Counts a refusal. The reason is one of a dozen constant codes, so the label stays bounded.
    func countRefusal(code: String) {
        metrics.counter(
            Self.refusalsName, help: "Requests refused before they reached a handler, by reason.",
            labels: ["listener": listener, "reason": code]
        ).add()
    }
}
