internal import Telemetry

/// The metric that both kinds of loop have beside those of every stage.
enum FanOutMetrics {
    static func clockDoubtSeconds(_ metrics: Metrics, loop: String) -> Gauge {
        metrics.gauge(
            "flotilla_fan_out_clock_doubt_seconds",
            help: "difference between the clocks of brokers and machine while the stage doubts them",
            labels: ["loop": loop])
    }
}
