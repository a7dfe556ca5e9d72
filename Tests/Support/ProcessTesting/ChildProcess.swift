package import Foundation
internal import Synchronization

/// A real process beside a test: our own program or an independent peer. Its output is kept, and it is killed
/// with the test that started it.
///
/// It uses `posix_spawn` instead of Foundation's `Process`. A child must not inherit the signals that the
/// test's threads block, and the sanitizers must report only problems of the test.
package final class ChildProcess: Sendable {
    private struct ExitState {
        /// The status of `waitpid`, or nil while the process runs.
        var status: Int32?
    }

    /// The environment variables with the tests' cluster and the seed of its weather.
    package static let testVariables = ["FLOTILLA_KAFKA", "FLOTILLA_WEATHER"]

    private let name: String
    package let processID: Int32
    private let standardOutput: CollectedOutput
    private let standardError: CollectedOutput
    private let exitState = Mutex(ExitState())

    /// - Parameters:
    ///   - executable: A path, or a name that is looked up as in a shell.
    ///   - environment: Additions to this process's environment. An empty text removes a variable. Variables
    ///     that control the tests are not inherited.
    ///   - input: The standard input of the child. Nil means empty input.
    package init(
        _ executable: String, arguments: [String] = [], environment: [String: String] = [:],
        input: Data? = nil
    ) throws {
        let path = try Self.path(ofExecutable: executable)
        name = URL(fileURLWithPath: path).lastPathComponent
        var inherited = ProcessInfo.processInfo.environment
        // The program would reject them as unknown settings.
        for name in Self.testVariables { inherited[name] = nil }
        let all = inherited.merging(environment) { $1 }.filter { !$0.value.isEmpty }
        let output = try PipeEnds()
        let errors = try PipeEnds()
        let source = try input.map { _ in try PipeEnds() }
        let spawned = SpawnParameters(
            path: path, arguments: [path] + arguments, environment: all.map { "\($0.key)=\($0.value)" },
            input: source?.readDescriptor, output: output.writeDescriptor, errors: errors.writeDescriptor)
        defer {
            output.closeWriteEnd()
            errors.closeWriteEnd()
            source?.closeReadEnd()
        }
        processID = try spawned.spawn()
        standardOutput = CollectedOutput(descriptor: output.readDescriptor)
        standardError = CollectedOutput(descriptor: errors.readDescriptor)
        if let input, let source { Self.feed(input, into: source.writeDescriptor) }
    }

    deinit {
        // Kills the process and waits for it, so that it does not disturb the next test.
        if statusIfEnded() == nil {
            kill(processID, SIGKILL)
            var status: Int32 = 0
            unsafe waitpid(processID, &status, 0)
        }
    }

    private static func feed(_ input: Data, into descriptor: Int32) {
        Thread.detachNewThread {
            // The child may end before it has read everything. Its exit status shows that.
            signal(SIGPIPE, SIG_IGN)
            unsafe input.withUnsafeBytes { bytes in
                var offset = 0
                while offset < bytes.count {
                    let count = unsafe write(descriptor, bytes.baseAddress! + offset, bytes.count - offset)
                    if count <= 0 { break }
                    offset += count
                }
            }
            close(descriptor)
        }
    }

    package var isRunning: Bool { statusIfEnded() == nil }
    /// The standard output so far.
    package var output: String { standardOutput.text }
    /// The standard error so far.
    package var errors: String { standardError.text }

    package func send(signal: Int32) {
        if isRunning { kill(processID, signal) }
    }

    private func statusIfEnded() -> Int32? {
        exitState.withLock { ending in
            if ending.status == nil {
                var status: Int32 = 0
                if unsafe waitpid(processID, &status, WNOHANG) == processID { ending.status = status }
            }
            return ending.status
        }
    }

    /// Waits until either output contains the words.
    package func waitForOutput(containing text: String, seconds: Double = 60) async throws {
        try await eventually("“\(text)” in the output of \(name)", seconds: seconds) {
            let hasEnded = !isRunning
            if output.contains(text) || errors.contains(text) { return true }
            if hasEnded { throw ProcessEnded(name: name, errors: errors) }
            return false
        }
    }

    /// Waits for the end. The status is negative if a signal ended the process.
    package func exitStatus(seconds: Double = 60) async throws -> Int32 {
        try await eventually("the end of \(name)", seconds: seconds) { !isRunning }
        // The last output may still be in the pipe. A grandchild may hold the pipe open for longer.
        try? await eventually("the end of its output", seconds: 10) {
            standardOutput.hasEnded && standardError.hasEnded
        }
        let status = statusIfEnded() ?? 0
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : -signal
    }

    private struct ProcessEnded: Error, CustomStringConvertible {
        let name: String
        let errors: String
        var description: String { "\(name) ended: \(errors.suffix(2000))" }
    }

    private struct ExecutableNotFound: Error, CustomStringConvertible {
        let name: String
        var description: String { "\(name) is not installed; deploy/test installs it" }
    }

    private static func path(ofExecutable executable: String) throws -> String {
        if executable.contains("/") { return executable }
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin:/usr/bin"
        for directory in path.split(separator: ":") {
            let candidate = "\(directory)/\(executable)"
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        throw ExecutableNotFound(name: executable)
    }
}
