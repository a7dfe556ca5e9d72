package import Foundation
internal import Synchronization

/// A real process beside a test: one of ours, or a peer that nobody here wrote. Its output is kept;
/// it is killed with the test that started it, whatever happens.
///
/// Made with `posix_spawn` and not with Foundation's `Process`: a child must not inherit the signals
/// that the test's threads block, and the sanitizers must find nothing here that is not the test's.
package final class ChildProcess: Sendable {
    private struct Ending {
        /// As `waitpid` gave it; nil while the process runs.
        var status: Int32?
    }

    /// Of the environment: where tests find their cluster, and the seed of its weather.
    package static let testVariables = ["FLOTILLA_KAFKA", "FLOTILLA_WEATHER"]

    private let name: String
    package let identifier: Int32
    private let standardOutput: CollectedOutput
    private let standardError: CollectedOutput
    private let ending = Mutex(Ending())

    /// - Parameters:
    ///   - executable: a path, or a name that is looked up as a shell would.
    ///   - environment: what is added to, or with an empty text hidden from, this process's own; without
    ///     what steers the tests.
    ///   - input: what the child reads, then the end; without it, nothing at all.
    package init(
        _ executable: String, _ arguments: [String] = [], environment: [String: String] = [:],
        input: Data? = nil
    ) throws {
        let path = try Self.find(executable)
        name = URL(fileURLWithPath: path).lastPathComponent
        var own = ProcessInfo.processInfo.environment
        // The program would refuse them as settings that it does not know.
        for name in Self.testVariables { own[name] = nil }
        let all = own.merging(environment) { $1 }.filter { !$0.value.isEmpty }
        let output = try PipeEnds()
        let errors = try PipeEnds()
        let source = try input.map { _ in try PipeEnds() }
        let spawned = Spawn(
            path: path, arguments: [path] + arguments, environment: all.map { "\($0.key)=\($0.value)" },
            input: source?.reading, output: output.writing, errors: errors.writing)
        defer {
            output.closeWriting()
            errors.closeWriting()
            source?.closeReading()
        }
        identifier = try spawned.run()
        standardOutput = CollectedOutput(output.reading)
        standardError = CollectedOutput(errors.reading)
        if let input, let source { Self.feed(input, into: source.writing) }
    }

    deinit {
        // Killed and waited for, so that nothing is left for the next test to trip over.
        if statusIfEnded() == nil {
            kill(identifier, SIGKILL)
            var status: Int32 = 0
            unsafe waitpid(identifier, &status, 0)
        }
    }

    private static func feed(_ input: Data, into descriptor: Int32) {
        Thread.detachNewThread {
            // The child may be gone before it has read everything; that shows in its exit status.
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
    /// Standard output so far.
    package var output: String { standardOutput.text }
    /// Standard error so far.
    package var errors: String { standardError.text }

    package func send(signal: Int32) {
        if isRunning { kill(identifier, signal) }
    }

    private func statusIfEnded() -> Int32? {
        ending.withLock { ending in
            if ending.status == nil {
                var status: Int32 = 0
                if unsafe waitpid(identifier, &status, WNOHANG) == identifier { ending.status = status }
            }
            return ending.status
        }
    }

    /// Waits until either output holds the words.
    package func waitFor(_ words: String, seconds: Double = 60) async throws {
        try await eventually("“\(words)” in the output of \(name)", seconds: seconds) {
            let hasEnded = !isRunning
            if output.contains(words) || errors.contains(words) { return true }
            if hasEnded { throw Ended(name: name, errors: errors) }
            return false
        }
    }

    /// Waits for the end; the status is negative when a signal ended it.
    package func exitStatus(seconds: Double = 60) async throws -> Int32 {
        try await eventually("the end of \(name)", seconds: seconds) { !isRunning }
        // What it said last may still be on its way; a grandchild may hold the pipe open for longer.
        try? await eventually("the end of its output", seconds: 10) {
            standardOutput.hasEnded && standardError.hasEnded
        }
        let status = statusIfEnded() ?? 0
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : -signal
    }

    private struct Ended: Error, CustomStringConvertible {
        let name: String
        let errors: String
        var description: String { "\(name) ended: \(errors.suffix(2000))" }
    }

    private struct NotFound: Error, CustomStringConvertible {
        let name: String
        var description: String { "\(name) is not installed; deploy/test installs what the tests need" }
    }

    private static func find(_ executable: String) throws -> String {
        if executable.contains("/") { return executable }
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin:/usr/bin"
        for directory in path.split(separator: ":") {
            let candidate = "\(directory)/\(executable)"
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        throw NotFound(name: executable)
    }
}
