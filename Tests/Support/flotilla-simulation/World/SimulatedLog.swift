import Telemetry

/// The logs of the simulated processes, on standard output.
enum SimulatedLog {
    nonisolated(unsafe) private static var sink: LogSink?

    /// Shows the logs. Call it before the first world: the writer of the log is a thread.
    static func show() { sink = LogSink(level: .info, format: .text, descriptor: 1) }

    static func make(for name: String) -> Log { sink.map { Log(component: name, sink: $0) } ?? .silent }
}
