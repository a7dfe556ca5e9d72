package import Foundation
internal import Synchronization

/// A real process beside a test: one of ours, or a peer that nobody here wrote. Its output is kept;
/// it is killed with the test that started it, whatever happens.
package final class ChildProcess: Sendable {
    private struct Text {
        var output = ""
        var errors = ""
        var openPipes = 2
    }

    private let process: Process
    private let text: Mutex<Text>

    /// - Parameters:
    ///   - executable: a path, or a name that is looked up as a shell would.
    ///   - environment: what is added to, or with an empty text hidden from, this process's own.
    ///   - input: what the child reads, then the end; without it, nothing at all.
    package init(
        _ executable: String, _ arguments: [String] = [], environment: [String: String] = [:],
        directory: String? = nil, input: Data? = nil
    ) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try Self.find(executable))
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
            .filter { !$0.value.isEmpty }
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        let standardInput = Pipe()
        if input == nil {
            process.standardInput = FileHandle.nullDevice
        } else {
            process.standardInput = standardInput
        }
        self.process = process
        text = Mutex(Text())
        try process.run()
        collect(output.fileHandleForReading) { $0.output += $1 }
        collect(errors.fileHandleForReading) { $0.errors += $1 }
        if let input {
            let handle = standardInput.fileHandleForWriting
            Thread.detachNewThread {
                // The child may be gone before it has read everything; that shows in its exit status.
                try? handle.write(contentsOf: input)
                try? handle.close()
            }
        }
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    private func collect(_ handle: FileHandle, into add: @escaping @Sendable (inout Text, String) -> Void) {
        Thread.detachNewThread { [weak self] in
            while true {
                let data = handle.availableData
                guard let self else { return }
                if data.isEmpty {
                    self.text.withLock { $0.openPipes -= 1 }
                    return
                }
                self.text.withLock { add(&$0, String(decoding: data, as: UTF8.self)) }
            }
        }
    }

    package var identifier: Int32 { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }
    /// Standard output so far.
    package var output: String { text.withLock { $0.output } }
    /// Standard error so far.
    package var errors: String { text.withLock { $0.errors } }

    package func send(signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits until either output holds the words.
    package func waitFor(_ words: String, seconds: Double = 20) async throws {
        try await eventually("“\(words)” in the output of \(name)", seconds: seconds) {
            if output.contains(words) || errors.contains(words) { return true }
            if !process.isRunning {
                throw Ended(name: name, status: process.terminationStatus, errors: errors)
            }
            return false
        }
    }

    /// Waits for the end; the status is negative when a signal ended it.
    package func exitStatus(seconds: Double = 30) async throws -> Int32 {
        try await eventually("the end of \(name)", seconds: seconds) { !process.isRunning }
        // What it said last may still be on its way; a grandchild may hold the pipe open for longer.
        try? await eventually("the end of its output", seconds: 1) { text.withLock { $0.openPipes } == 0 }
        return process.terminationReason == .uncaughtSignal
            ? -process.terminationStatus : process.terminationStatus
    }

    private var name: String { process.executableURL?.lastPathComponent ?? "the process" }

    private struct Ended: Error, CustomStringConvertible {
        let name: String
        let status: Int32
        let errors: String
        var description: String { "\(name) ended with status \(status): \(errors.suffix(2000))" }
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
