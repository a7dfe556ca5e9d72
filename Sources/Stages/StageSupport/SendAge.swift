package import Telemetry

/// The age of a send when its jobs reach a step. It counts from the moment in which the gateway accepted
/// the send, by the clocks of two machines. All stages use one metric name, so a dashboard shows a send's
/// path from end to end.
package struct SendAge {
    package enum Step: String {
        /// The job is committed.
        case expanded
        /// The push was handed to the APNs client.
        case pushed
        /// APNs answered the push.
        case answered
    }

    private let seconds: Histogram

    package init(metrics: Metrics, step: Step) {
        seconds = metrics.histogram(
            "flotilla_send_age_seconds",
            help: "from a send's acceptance until its jobs reached the step, one count for each job",
            labels: ["step": step.rawValue])
    }

    /// - Parameters: times in milliseconds since 1970, and the number of jobs.
    package func observe(acceptedAt: Int64, now: Int64, jobs: Int) {
        seconds.observe(Double(max(0, now - acceptedAt)) / 1000, count: jobs)
    }
}
