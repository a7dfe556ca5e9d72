internal import Glibc
internal import Lifecycle
internal import Settings
internal import Telemetry

/// The shared parts of every long-running command: log, metrics, signals, and services in their order.
struct RunningProcess: Sendable {
    private static let flushBeforeExitMilliseconds = 100

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

    /// Starts the services in their order and runs them until a signal or a failure. Then it stops them in the reverse
    /// order within the drain limit. At a second signal, or after the limit, the process exits as if killed.
    ///
    /// - Parameter onServing: called when all services have started.
    func run(_ services: [any Service], onServing: @escaping @Sendable () -> Void = {}) async throws {
        let shutdown = Shutdown()
        let exitNow: @Sendable () -> Void = { [sink] in
            sink.flush(withinMilliseconds: Self.flushBeforeExitMilliseconds)
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
