/// The importance of a log line for the person on call.
package enum LogLevel: String, Sendable, Comparable, CaseIterable {
    /// At most one line per batch. Off in production.
    case debug
    /// A handful of lines per start and stop.
    case info
    /// Something is degraded, but it heals by itself. Rate-limited.
    case warning
    /// A person must act, and the line says how. Rate-limited.
    case error

    private var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        }
    }

    package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rank < b.rank }
}
