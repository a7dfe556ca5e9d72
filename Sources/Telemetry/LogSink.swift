internal import CLinux
internal import Glibc
internal import Synchronization

/// Where log lines go: a bounded buffer, emptied by a thread of its own, so that a reader of our
/// output who has stopped reading stops no push. Lines beyond the buffer are dropped and counted.
package final class LogSink: Sendable {
    /// What may wait for a slow reader, in bytes.
    package static let waitingBytesMax = 1 << 20
    /// Warnings, or errors, with one message in one window; the rest is counted and told with the next one.
    package static let equalLinesPerWindow = 10
    package static let equalLinesWindowSeconds: Int64 = 60

    private struct State {
        var lines: [[UInt8]] = []
        var waitingBytes = 0
        var dropped = 0
        var writing = false
        var equalLines: [Kind: Window] = [:]
    }

    /// What makes two lines equal: their fields may differ.
    private struct Kind: Hashable {
        let level: LogLevel
        /// Where the program has it.
        let message: UInt
    }

    private struct Window {
        var startedAt: Int64
        var written = 0
        var suppressed = 0
    }

    package let level: LogLevel
    private let format: LogFormat
    private let descriptor: Int32
    private let wakeUp: Int32
    private let now: @Sendable () -> WallTime
    private let state = Mutex(State())

    /// - Parameter descriptor: an open file that the caller keeps open; -1 discards every line.
    package init(
        level: LogLevel, format: LogFormat, descriptor: Int32 = 2,
        now: @escaping @Sendable () -> WallTime = WallTime.now
    ) {
        self.level = level
        self.format = format
        self.descriptor = descriptor
        self.now = now
        wakeUp = descriptor < 0 ? -1 : eventfd(0, Int32(EFD_CLOEXEC))
        if descriptor >= 0 { startWriter() }
    }

    func write(_ level: LogLevel, component: String, _ message: StaticString, fields: [LogField]) {
        guard level >= self.level, descriptor >= 0 else { return }
        let time = now()
        var fields = fields
        if level >= .warning {
            guard let suppressed = admit(level, message, at: time) else { return }
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
        if wake { eventfd_write(wakeUp, 1) }
    }

    /// How many equal lines were held back since the last one, or nil when this one is held back too.
    private func admit(_ level: LogLevel, _ message: StaticString, at time: WallTime) -> Int? {
        let kind = unsafe Kind(level: level, message: UInt(bitPattern: message.utf8Start))
        return state.withLock { state in
            var window = state.equalLines[kind] ?? Window(startedAt: time.seconds)
            defer { state.equalLines[kind] = window }
            if time.seconds - window.startedAt >= Self.equalLinesWindowSeconds {
                let suppressed = window.suppressed
                window = Window(startedAt: time.seconds, written: 1)
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

    /// Waits until what was logged so far is written, at most for the time given: the last words of
    /// a process must not be lost, nor keep it alive.
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
            if unsafe read(wakeUp, &count, 8) < 0 && errno != EINTR { return }
            let (lines, dropped) = state.withLock { state in
                defer {
                    state.lines = []
                    state.waitingBytes = 0
                    state.dropped = 0
                    state.writing = true
                }
                return (state.lines, state.dropped)
            }
            for line in lines { writeWhole(line) }
            if dropped > 0 {
                writeWhole(
                    format.line(
                        time: now(), level: .warning, component: "log",
                        message: "lines dropped: the reader of the log is too slow",
                        fields: [.field("dropped", dropped)]))
            }
            state.withLock { $0.writing = false }
        }
    }

    private func writeWhole(_ line: [UInt8]) {
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
