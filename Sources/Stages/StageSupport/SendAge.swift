package import Telemetry

/// A metric: the age of a send when its jobs reach a step. The age counts from the moment in which the gateway accepted
/// the send, so it compares the clocks of two machines. All stages use one metric name, so that a dashboard shows the
/// path of a send from end to end.
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

    /// Counts jobs that reach the step now.
    ///
    /// - Parameters:
    ///   - acceptedAt: milliseconds since 1970, as is `now`.
    ///   - jobs: the number of jobs.
    package func observe(acceptedAt: Int64, now: Int64, jobs: Int) {
        seconds.observe(Double(max(0, now - acceptedAt)) / 1000, count: jobs)
    }
}
