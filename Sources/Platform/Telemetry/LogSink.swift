internal import CLinux
internal import Glibc
internal import Synchronization

/// A destination of log lines: a bounded buffer that a separate thread empties. So a slow reader of the
/// output never blocks a push. Lines beyond the buffer are dropped and counted.
package final class LogSink: Sendable {
    /// The maximum size of the buffer in bytes.
    package static let waitingBytesMax = 1 << 20
    /// The maximum number of equal warnings or errors per window. Further ones are counted, and the next line
    /// reports the count.
    package static let equalLinesPerWindow = 10
    package static let equalLinesWindowSeconds: Int64 = 60
    /// The maximum number of different errors that are remembered.
    static let rememberedErrorsMax = 32

    private struct SinkState {
        var lines: [[UInt8]] = []
        var waitingBytes = 0
        var dropped = 0
        var writing = false
        var equalLines: [LineKind: RateWindow] = [:]
        var errors: [LoggedError] = []
    }

    /// The identity of equal lines. Their fields may differ.
    private struct LineKind: Hashable {
        let level: LogLevel
        /// The address of the constant message.
        let message: UInt
    }

    private struct RateWindow {
        var startedAt: Int64
        var written = 0
        var suppressed = 0
    }

    package let level: LogLevel
    private let format: LogFormat
    private let descriptor: Int32
    private let wakeupDescriptor: Int32
    private let now: @Sendable () -> WallTime
    private let state = Mutex(SinkState())

    /// - Parameter descriptor: an open file that the caller keeps open. -1 discards every line.
    package init(
        level: LogLevel, format: LogFormat, descriptor: Int32 = 2,
        now: @escaping @Sendable () -> WallTime = WallTime.now
    ) {
        self.level = level
        self.format = format
        self.descriptor = descriptor
        self.now = now
        wakeupDescriptor = descriptor < 0 ? -1 : eventfd(0, Int32(EFD_CLOEXEC))
        if descriptor >= 0 { startWriter() }
    }

    func write(_ level: LogLevel, component: String, message: StaticString, fields: [LogField]) {
        guard level >= self.level, descriptor >= 0 else { return }
        if level == .error { rememberError(component: component, message: message) }
        let time = now()
        var fields = fields
        if level >= .warning {
            guard let suppressed = admit(level: level, message: message, at: time) else { return }
            if suppressed > 0 { fields.append(.field("suppressed", suppressed)) }
        }
        let line = format.line(
            time: time, level: level, component: component, message: message, fields: fields)
        let wake = state.withLock { state in
            if state.waitingBytes + line.count > Self.waitingBytesMax {
                state.dropped += 1
                return false
            }
            state.lines.append(line)
            state.waitingBytes += line.count
            return state.lines.count == 1
        }
        if wake { eventfd_write(wakeupDescriptor, 1) }
    }

    /// The errors since the start of the process, in the order of their first lines.
    var errors: [LoggedError] { state.withLock { $0.errors } }

    private func rememberError(component: String, message: StaticString) {
        let message = message.description
        state.withLock { state in
            if let index = state.errors.firstIndex(where: {
                $0.component == component && $0.message == message
            }) {
                state.errors[index].count += 1
            } else if state.errors.count < Self.rememberedErrorsMax {
                state.errors.append(LoggedError(component: component, message: message, count: 1))
            }
        }
    }

    /// Returns the number of equal lines that were suppressed before this line, or nil if this line is
    /// suppressed too.
    private func admit(level: LogLevel, message: StaticString, at time: WallTime) -> Int? {
        let kind = unsafe LineKind(level: level, message: UInt(bitPattern: message.utf8Start))
        return state.withLock { state in
            var window = state.equalLines[kind] ?? RateWindow(startedAt: time.seconds)
            defer { state.equalLines[kind] = window }
            if time.seconds - window.startedAt >= Self.equalLinesWindowSeconds {
                let suppressed = window.suppressed
                window = RateWindow(startedAt: time.seconds, written: 1)
                return suppressed
            }
            if window.written < Self.equalLinesPerWindow {
                window.written += 1
                return 0
            }
            window.suppressed += 1
            return nil
        }
    }

    /// Waits, within the limit, until all lines so far are written. The last lines of a process must not be
    /// lost, and they must not keep it alive.
    package func flush(withinMilliseconds limit: Int = 1000) {
        for _ in 0..<limit {
            let idle = state.withLock { $0.lines.isEmpty && !$0.writing }
            if idle { return }
            usleep(1000)
        }
    }

    private func startWriter() {
        var thread = pthread_t()
        let argument = unsafe Unmanaged.passRetained(self).toOpaque()
        let status = unsafe pthread_create(&thread, nil, writerThread, argument)
        precondition(status == 0, "no thread for the log: \(status)")
        pthread_detach(thread)
    }

    fileprivate func writeForever() {
        while true {
            var count: UInt64 = 0
            if unsafe read(wakeupDescriptor, &count, 8) < 0 && errno != EINTR { return }
            let (lines, dropped) = state.withLock { state in
                defer {
                    state.lines = []
                    state.waitingBytes = 0
                    state.dropped = 0
                    state.writing = true
                }
                return (state.lines, state.dropped)
            }
            for line in lines { writeFully(line) }
            if dropped > 0 {
                writeFully(
                    format.line(
                        time: now(), level: .warning, component: "log",
                        message: "lines dropped: the reader of the log is too slow",
                        fields: [.field("dropped", dropped)]))
            }
            state.withLock { $0.writing = false }
        }
    }

    private func writeFully(_ line: [UInt8]) {
        unsafe line.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let written = unsafe Glibc.write(
                    descriptor, bytes.baseAddress! + offset, bytes.count - offset)
                if written < 0 && errno == EINTR { continue }
                if written <= 0 { return }
                offset += written
            }
        }
    }
}

private func writerThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe Unmanaged<LogSink>.fromOpaque(argument!).takeUnretainedValue().writeForever()
    return nil
}
