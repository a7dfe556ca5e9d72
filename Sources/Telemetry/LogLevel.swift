/// How much a log line matters to the person on call.
package enum LogLevel: String, Sendable, Comparable, CaseIterable {
    /// One line per batch at most; off in production.
    case debug
    /// A handful per start and stop.
    case info
    /// Degraded, and heals by itself. Rate-limited.
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
