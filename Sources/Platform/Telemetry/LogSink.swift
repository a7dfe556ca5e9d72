internal import CLinux
internal import Glibc
internal import Synchronization

/// A destination of log lines: a bounded buffer that a separate thread empties. So a slow reader of the
/// output never blocks a push. Lines beyond the buffer are dropped and counted.
package final class LogSink: Sendable {
    /// The maximum size of the buffer in bytes.
    package static let waitingBytesMax = 1 << 20
    /// The maximum number of different errors that are remembered.
    static let rememberedErrorsMax = 32

    private struct SinkState {
        /// The lines that wait for the writer thread, and their size in bytes.
        var lines: [[UInt8]] = []
        var waitingBytes = 0
        /// The number of lines dropped since the writer last took the lines.
        var droppedLines = 0
        /// Whether the writer thread has taken lines and not written them all.
        var isWriting = false
        var equalLines = EqualLineLimiter()
        var errors: [LoggedError] = []
    }

    package let level: LogLevel
    private let format: LogFormat
    private let descriptor: Int32
    private let wakeupDescriptor: Int32
    private let now: @Sendable () -> WallTime
    private let state = Mutex(SinkState())

    /// - Parameter descriptor: an open file that the caller keeps open, by default standard error. -1
    ///   discards every line.
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

    /// Formats the line on the caller's thread, and leaves it for the writer thread.
    func write(_ level: LogLevel, component: String, message: StaticString, fields: [LogField]) {
        guard level >= self.level, descriptor >= 0 else { return }
        if level == .error { rememberError(component: component, message: message) }
        let time = now()
        var fields = fields
        if level >= .warning {
            guard
                let suppressed = state.withLock({
                    $0.equalLines.admit(level: level, message: message, atSeconds: time.seconds)
                })
            else { return }
            if suppressed > 0 { fields.append(.field("suppressed", suppressed)) }
        }
        let line = format.line(
            time: time, level: level, component: component, message: message, fields: fields)
        let isFirstLine = state.withLock { state in
            if state.waitingBytes + line.count > Self.waitingBytesMax {
                state.droppedLines += 1
                return false
            }
            state.lines.append(line)
            state.waitingBytes += line.count
            return state.lines.count == 1
        }
        if isFirstLine { eventfd_write(wakeupDescriptor, 1) }
    }

    /// The first `rememberedErrorsMax` different errors of the process with their counts, in the order of their first
    /// lines.
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

    /// Waits, within the limit, until all lines so far are written. The last lines of a process must not be
    /// lost, and they must not keep it alive.
    package func flush(withinMilliseconds limit: Int = 1000) {
        for _ in 0..<limit {
            let isWritten = state.withLock { $0.lines.isEmpty && !$0.isWriting }
            if isWritten { return }
            usleep(1000)
        }
    }

    /// Starts the writer thread, which keeps this object until the process ends.
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
            if unsafe read(wakeupDescriptor, &count, MemoryLayout<UInt64>.size) < 0 && errno != EINTR {
                return
            }
            let (lines, droppedLines) = state.withLock { state in
                let taken = (state.lines, state.droppedLines)
                state.lines = []
                state.waitingBytes = 0
                state.droppedLines = 0
                state.isWriting = true
                return taken
            }
            for line in lines { writeFully(line) }
            if droppedLines > 0 {
                writeFully(
                    format.line(
                        time: now(), level: .warning, component: "log",
                        message: "lines dropped: the reader of the log is too slow",
                        fields: [.field("dropped", droppedLines)]))
            }
            state.withLock { $0.isWriting = false }
        }
    }

    /// Writes the line, or drops the rest of it if the file refuses it. Waits for a full pipe, also if another process
    /// has made it non-blocking.
    private func writeFully(_ line: [UInt8]) {
        unsafe line.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let written = unsafe Glibc.write(
                    descriptor, bytes.baseAddress! + offset, bytes.count - offset)
                if written < 0 && errno == EINTR { continue }
                if written < 0 && errno == EAGAIN {
                    var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = unsafe poll(&state, 1, -1)
                    continue
                }
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
