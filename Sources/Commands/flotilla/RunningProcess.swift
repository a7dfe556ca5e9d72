internal import Glibc
internal import Lifecycle
internal import Settings
internal import Telemetry

/// The shared parts of every long-running command: log, metrics, signals, and services in their order.
struct RunningProcess: Sendable {
    let log: Log
    let metrics = Metrics()
    private let sink: LogSink
    private let settings: ProcessSettings

    init(settings: ResolvedSettings) {
        self.settings = settings[ProcessSettings.self]
        sink = LogSink(level: self.settings.logLevel, format: self.settings.logFormat)
        log = Log(component: "flotilla", sink: sink)
        metrics.gauge(
            "flotilla_build_info", help: "The version of the running binary.",
            labels: ["version": flotillaVersion]
        ).set(1)
    }

    /// Runs the services until a signal or a failure, then stops them within the drain limit.
    func run(_ services: [any Service], onServing: @escaping @Sendable () -> Void = {}) async throws {
        let shutdown = Shutdown()
        let exitNow: @Sendable () -> Void = { [sink] in
            sink.flush(withinMilliseconds: 100)
            _exit(ExitStatus.killed.rawValue)
        }
        Signals.watch(requesting: shutdown, reload: {}, exitNow: exitNow)
        let runner = ServiceRunner(
            services, log: log, metrics: metrics, drainMilliseconds: settings.drainMilliseconds,
            onOverrun: { _ in exitNow() })
        defer { sink.flush() }
        try await runner.run(until: shutdown, onServing: onServing)
        log.info("stopped")
    }
}
