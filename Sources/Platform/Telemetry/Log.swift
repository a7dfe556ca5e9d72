/// A writer of log lines for one component. A line is a constant message and fields. The message is constant
/// so that it can be counted, searched and found in a runbook.
package struct Log: Sendable {
    private let component: String
    private let sink: LogSink

    package init(component: String, sink: LogSink) {
        self.component = component
        self.sink = sink
    }

    /// Returns a log for another component with the same sink.
    package func forComponent(_ name: String) -> Log { Log(component: name, sink: sink) }

    /// A log that discards all lines, for tests and for tools that print tables.
    package static let silent = Log(
        component: "", sink: LogSink(level: .error, format: .text, descriptor: -1))

    /// The errors that any component has logged to this sink, at most 32 different ones.
    package var errors: [LoggedError] { sink.errors }

    package func debug(_ message: StaticString, _ fields: LogField...) {
        sink.write(.debug, component: component, message: message, fields: fields)
    }

    package func info(_ message: StaticString, _ fields: LogField...) {
        sink.write(.info, component: component, message: message, fields: fields)
    }

    package func warning(_ message: StaticString, _ fields: LogField...) {
        sink.write(.warning, component: component, message: message, fields: fields)
    }

    package func error(_ message: StaticString, _ fields: LogField...) {
        sink.write(.error, component: component, message: message, fields: fields)
    }
}
