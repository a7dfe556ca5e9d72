internal import Foundation
internal import Glibc
internal import ProcessTesting

/// A child process that runs on one processor only, with its cost from start to end. The cost includes
/// start-up, as it does for a user. The output goes to a file. The process is killed when this value is
/// freed.
final class PinnedProcess {
    struct Cost {
        /// The time on the processor, in the program and in the kernel.
        var processorSeconds: Double
        /// The part of it in the kernel.
        var systemSeconds: Double
        var peakMemoryMiB: Int
    }

    let outputFile: String
    private let name: String
    private(set) var identifier: pid_t = 0

    init(command arguments: [String], processor: Int, output: String) throws {
        self.outputFile = output
        name = arguments[0]
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        let flags = O_WRONLY | O_CREAT | O_TRUNC
        unsafe posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o600)
        unsafe posix_spawn_file_actions_addopen(
            &actions, 2, output == "/dev/null" ? output : output + ".errors", flags, 0o600)
        let command = ["taskset", "-c", String(processor)] + arguments
        var words = unsafe command.map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe words.indices { unsafe free(words[index]) } }
        let code = unsafe posix_spawnp(&identifier, "taskset", &actions, nil, &words, environ)
        guard code == 0 else {
            throw BenchmarkFailure("cannot start \(name): \(unsafe String(cString: strerror(code)))")
        }
    }

    /// Pins this process to one processor, and with it each process that it starts later without its own pin.
    static func pinThisProcess(to processor: Int) throws {
        let taskset = try PinnedProcess(
            command: ["taskset", "-acp", String(processor), String(getpid())], processor: processor,
            output: "/dev/null")
        _ = try taskset.wait()
    }

    deinit { if identifier > 0 { _ = stop() } }

    /// Waits for the end. Throws if the status is not 0.
    func wait() throws -> Cost {
        let (cost, status) = reap()
        guard status == 0 else {
            throw BenchmarkFailure("\(name) ended with status \(status): \(outputText().suffix(500))")
        }
        return cost
    }

    /// Ends the process with SIGTERM, as a supervisor would.
    func terminate() throws -> Cost {
        kill(identifier, SIGTERM)
        return try wait()
    }

    /// Ends the process with SIGKILL.
    func stop() -> Cost {
        kill(identifier, SIGKILL)
        return reap().cost
    }

    /// Returns the output of the process so far: standard output, then standard error.
    func outputText() -> String {
        let texts = [outputFile, outputFile + ".errors"].map {
            try? String(contentsOfFile: $0, encoding: .utf8)
        }
        return texts.compactMap { $0 }.joined()
    }

    /// Returns the port that the system has chosen, as soon as the process listens.
    func listeningPort() throws -> Int {
        for _ in 0..<2_000 {
            if let port = ProcessTesting.listeningPort(of: identifier) { return port }
            usleep(5_000)
        }
        throw BenchmarkFailure("\(name) does not listen: \(outputText().suffix(500))")
    }

    /// Waits for the end.
    private func reap() -> (cost: Cost, status: Int32) {
        var status: Int32 = 0
        var usage = rusage()
        unsafe wait4(identifier, &status, 0, &usage)
        identifier = 0
        let user = Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) / 1e6
        let system = Double(usage.ru_stime.tv_sec) + Double(usage.ru_stime.tv_usec) / 1e6
        return (
            Cost(
                processorSeconds: user + system, systemSeconds: system, peakMemoryMiB: usage.ru_maxrss >> 10),
            status
        )
    }
}
