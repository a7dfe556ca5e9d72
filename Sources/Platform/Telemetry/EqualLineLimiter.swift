/// A rate limit for warnings and errors with the same message. The first lines of a window are written.
/// Further ones are counted, and the first line of the next window reports the count.
struct EqualLineLimiter {
    /// The maximum number of equal lines per window.
    static let linesPerWindow = 10
    static let windowSeconds: Int64 = 60

    /// The identity of equal lines. Their components and fields may differ.
    private struct LineKind: Hashable {
        let level: LogLevel
        /// The address of the constant message.
        let message: UInt
    }

    private struct RateWindow {
        /// Seconds since 1970.
        var startedAt: Int64
        var written = 0
        var suppressed = 0
    }

    /// Bounded by the number of messages in the program.
    private var windows: [LineKind: RateWindow] = [:]

    /// Returns the number of equal lines that were suppressed before this line, or nil if this line is
    /// suppressed too.
    mutating func admit(level: LogLevel, message: StaticString, atSeconds now: Int64) -> Int? {
        let kind = unsafe LineKind(level: level, message: UInt(bitPattern: message.utf8Start))
        var window = windows[kind] ?? RateWindow(startedAt: now)
        defer { windows[kind] = window }
        // A clock that was set back ends the window, too. Otherwise it could last for hours.
        let isInWindow = (0..<Self.windowSeconds).contains(now - window.startedAt)
        if !isInWindow {
            let suppressed = window.suppressed
            window = RateWindow(startedAt: now, written: 1)
            return suppressed
        }
        if window.written < Self.linesPerWindow {
            window.written += 1
            return 0
        }
        window.suppressed += 1
        return nil
    }
}
