internal import Telemetry

/// The metrics of all clients in a process.
package final class APNsMetrics: Sendable {
    /// Creates the counters whose labels are known only when they are counted.
    private let metrics: Metrics
    let accepted: Counter
    let lateAnswers: Counter
    let resentPushes: Counter
    let openPushes: Gauge
    let connections: Gauge
    let pushSeconds: Histogram
    /// For each fault: pushes that were certainly not processed, and pushes that may have been.
    private let unanswered: [PushFault: (unprocessed: Counter, unknown: Counter)]

    init(in metrics: Metrics) {
        self.metrics = metrics
        accepted = APNsMetrics.answerCounter(in: metrics, status: "200", reason: "")
        lateAnswers = metrics.counter(
            "flotilla_apns_late_answers_total",
            help: "Answers that arrived after the push had ended at its deadline.")
        resentPushes = metrics.counter(
            "flotilla_apns_resent_total",
            help: "Pushes sent again at once, because it is safe or the answer asks for it.")
        openPushes = metrics.gauge("flotilla_apns_pushes_open", help: "Pushes that have not ended.")
        connections = metrics.gauge("flotilla_apns_connections", help: "Connections to APNs that are open.")
        pushSeconds = metrics.histogram(
            "flotilla_apns_push_seconds", help: "Time from accepting a push to its end.")
        unanswered = Dictionary(
            uniqueKeysWithValues: PushFault.allCases.map { fault in
                func counter(known: String) -> Counter {
                    metrics.counter(
                        "flotilla_apns_unanswered_total",
                        help: "Pushes that ended without an answer, by certainty and fault.",
                        labels: ["known": known, "fault": fault.rawValue])
                }
                return (fault, (counter(known: "not_processed"), counter(known: "unknown")))
            })
    }

    private static func answerCounter(in metrics: Metrics, status: String, reason: String) -> Counter {
        metrics.counter(
            "flotilla_apns_answers_total", help: "Answers of APNs, by status and reason.",
            labels: ["status": status, "reason": reason])
    }

    /// Counts an answer other than a plain 200. Unknown reasons share one label.
    func countRefusal(_ answer: APNsResponse) {
        let reason = answer.reason?.rawValue ?? (answer.reasonText == nil ? "" : "other")
        let status = (100...599).contains(answer.status) ? String(answer.status) : "other"
        APNsMetrics.answerCounter(in: metrics, status: status, reason: reason).add()
    }

    func countEnd(_ end: PushEnd) {
        switch end {
        case .notProcessed(let fault): unanswered[fault]?.unprocessed.add()
        case .unknown(let fault): unanswered[fault]?.unknown.add()
        case .answered, .withdrawn: break
        }
    }

    /// - Parameter result: `open`, `given_up`, `refused` or `failed`.
    func countConnect(result: String) {
        metrics.counter(
            "flotilla_apns_connects_total", help: "Attempts to connect to APNs, by result.",
            labels: ["result": result]
        ).add()
    }

    func countGoaway(code: String) {
        metrics.counter(
            "flotilla_apns_goaways_total", help: "GOAWAY frames of APNs, by code.", labels: ["code": code]
        ).add()
    }

    func countReset(code: String) {
        metrics.counter(
            "flotilla_apns_resets_total", help: "Streams that APNs reset, by code.", labels: ["code": code]
        ).add()
    }
}
