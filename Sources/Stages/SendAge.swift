package import Telemetry

/// How old a send is when its jobs reach a step: from the moment in which the gateway accepted it, by the clocks of
/// two machines. One name for all stages, so that a dashboard shows the way of a send from end to end.
package struct SendAge {
    package enum Step: String {
        /// The job is committed.
        case expanded
        /// The push was handed to the APNs client.
        case pushed
        /// APNs took it.
        case answered
    }

    private let seconds: Histogram

    package init(_ metrics: Metrics, at step: Step) {
        seconds = metrics.histogram(
            "flotilla_send_age_seconds",
            help: "from a send's acceptance until its jobs reached the step, one count for each job",
            labels: ["step": step.rawValue])
    }

    /// - Parameters: milliseconds since 1970.
    package func observe(acceptedAt: Int64, now: Int64, jobs: Int) {
        seconds.observe(Double(max(0, now - acceptedAt)) / 1000, count: jobs)
    }
}
