internal import Glibc
internal import Lifecycle
internal import Settings
internal import Telemetry

/// What every long-running command shares: a log, metrics, signals, and services in order.
struct RunningProcess: Sendable {
    let log: Log
    let metrics = Metrics()
    private let sink: LogSink
    private let settings: ProcessSettings

    init(_ settings: ResolvedSettings) {
        self.settings = settings[ProcessSettings.self]
        sink = LogSink(level: self.settings.logLevel, format: self.settings.logFormat)
        log = Log("flotilla", to: sink)
        metrics.gauge(
            "flotilla_build_info", help: "the version that runs", labels: ["version": flotillaVersion]
        ).set(1)
    }

    /// Runs until a signal or a failure, then stops within the drain limit.
    func run(_ services: [any Service], onServing: @escaping @Sendable () -> Void = {}) async throws {
        let shutdown = Shutdown()
        let exitNow: @Sendable () -> Void = { [sink] in
            sink.flush(withinMilliseconds: 100)
            _exit(ExitStatus.killed.rawValue)
        }
        Signals.watch(shutdown, reload: {}, exitNow: exitNow)
        let group = Services(
            services, log: log, metrics: metrics, drainMilliseconds: settings.drainMilliseconds,
            onOverrun: { _ in exitNow() })
        defer { sink.flush() }
        try await group.run(until: shutdown, onServing: onServing)
        log.info("stopped")
    }
}
