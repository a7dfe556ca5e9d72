import Telemetry

/// The logs of the simulated processes, on standard output.
enum SimulatedLog {
    nonisolated(unsafe) static var isShown = false
    nonisolated(unsafe) private static var sink: LogSink?

    /// Starts the writer of the log, which is a thread. Call it before the clocks are set.
    static func startIfShown() {
        if isShown { sink = LogSink(level: .info, format: .text, descriptor: 1) }
    }

    static func make(for name: String) -> Log { sink.map { Log(component: name, sink: $0) } ?? .silent }
}
