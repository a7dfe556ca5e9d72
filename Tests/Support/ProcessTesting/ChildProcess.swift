package import Foundation
internal import Synchronization

/// A real process beside a test: our own program or an independent peer. Its output is kept. It is killed when the
/// test releases this object.
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
        let variables = inherited.merging(environment) { $1 }.filter { !$0.value.isEmpty }
        let outputPipe = try PipeEnds()
        let errorPipe = try PipeEnds()
        let inputPipe = try input.map { _ in try PipeEnds() }
        let parameters = SpawnParameters(
            path: path, arguments: [path] + arguments, environment: variables.map { "\($0.key)=\($0.value)" },
            input: inputPipe?.readDescriptor, output: outputPipe.writeDescriptor,
            errors: errorPipe.writeDescriptor)
        // The child has its own copies. Its output ends only when no other write end is open.
        defer {
            outputPipe.closeWriteEnd()
            errorPipe.closeWriteEnd()
            inputPipe?.closeReadEnd()
        }
        processID = try parameters.spawn()
        standardOutput = CollectedOutput(descriptor: outputPipe.readDescriptor)
        standardError = CollectedOutput(descriptor: errorPipe.readDescriptor)
        if let input, let inputPipe { Self.feed(input, into: inputPipe.writeDescriptor) }
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

    /// Sends a signal. Does nothing if the process has ended.
    package func send(signal: Int32) {
        if isRunning { kill(processID, signal) }
    }

    /// Returns the status of `waitpid`, or nil while the process runs.
    private func statusIfEnded() -> Int32? {
        exitState.withLock { state in
            if state.status == nil {
                var status: Int32 = 0
                if unsafe waitpid(processID, &status, WNOHANG) == processID { state.status = status }
            }
            return state.status
        }
    }

    /// Waits until the standard output or the standard error contains the text.
    package func waitForOutput(containing text: String, seconds: Double = 60) async throws {
        try await eventually("“\(text)” in the output of \(name)", seconds: seconds) {
            let hasEnded = !isRunning
            if output.contains(text) || errors.contains(text) { return true }
            if hasEnded { throw ProcessEnded(name: name, errors: errors) }
            return false
        }
    }

    /// Waits for the end of the process. Returns its exit status, or the negative number of the signal that ended it.
    package func exitStatus(seconds: Double = 60) async throws -> Int32 {
        try await eventually("the end of \(name)", seconds: seconds) { !isRunning }
        // The last output may still be in the pipe. A grandchild may hold the pipe open for longer.
        try? await eventually("the end of its output", seconds: 10) {
            standardOutput.hasEnded && standardError.hasEnded
        }
        let status = statusIfEnded() ?? 0
        // As in WTERMSIG and WEXITSTATUS, which are macros of C.
        let signal = status & 0x7F
        let exitStatus = (status >> 8) & 0xFF
        return signal == 0 ? exitStatus : -signal
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
