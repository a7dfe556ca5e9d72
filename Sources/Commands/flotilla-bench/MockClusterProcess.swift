internal import Glibc
internal import KafkaTesting

/// librdkafka's mock cluster in a separate process, so that its work is not counted as the client's. The process is
/// `flotilla-bench kafka --serve-mock`, and it ends when its standard input closes, which happens at the latest when
/// this process ends.
final class MockClusterProcess {
    private static let partitionsPerTopic = 4

    /// The two file descriptors of a pipe.
    private struct Pipe {
        let readEnd: Int32
        let writeEnd: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            guard unsafe pipe(&ends) == 0 else {
                throw BenchmarkFailure("no pipe for the mock cluster's process")
            }
            (readEnd, writeEnd) = (ends[0], ends[1])
        }
    }

    /// The addresses of the cluster, separated by commas.
    let brokers: String
    private let process: pid_t
    /// The open end of the process's standard input.
    private let input: Int32

    init() throws {
        let inputPipe = try Pipe()
        let outputPipe = try Pipe()
        process = try Self.spawn(input: inputPipe, output: outputPipe)
        close(inputPipe.readEnd)
        close(outputPipe.writeEnd)
        input = inputPipe.writeEnd
        brokers = Self.readLine(from: outputPipe.readEnd)
        close(outputPipe.readEnd)
        if brokers.isEmpty { throw BenchmarkFailure("the mock cluster's process did not start") }
    }

    deinit {
        close(input)
        var status: Int32 = 0
        unsafe waitpid(process, &status, 0)
    }

    /// Starts this program again with the pipes as its standard input and output.
    private static func spawn(input: Pipe, output: Pipe) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input.readEnd, STDIN_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.writeEnd, STDOUT_FILENO)
        // With these ends open, the child would never see the end of its input.
        unsafe posix_spawn_file_actions_addclose(&actions, input.writeEnd)
        unsafe posix_spawn_file_actions_addclose(&actions, output.readEnd)
        // The few bytes of the arguments are never freed.
        let arguments: [UnsafeMutablePointer<CChar>?] = unsafe [
            strdup("flotilla-bench"), strdup("kafka"), strdup("--serve-mock"), nil,
        ]
        var processID: pid_t = 0
        guard unsafe posix_spawn(&processID, "/proc/self/exe", &actions, nil, arguments, environ) == 0 else {
            throw BenchmarkFailure("no process for the mock cluster")
        }
        return processID
    }

    /// Returns the line that the process prints when it serves, or "" if it ended before.
    private static func readLine(from output: Int32) -> String {
        var text = [UInt8](repeating: 0, count: 256)
        let byteCount = unsafe read(output, &text, text.count)
        return String(
            decoding: text.prefix(max(0, byteCount)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    // MARK: In the process

    /// Serves the topics of `KafkaBenchmark` until standard input closes. Prints the addresses of the cluster.
    static func serve() throws {
        guard let cluster = MockCluster(brokers: 1) else { throw BenchmarkFailure("no mock cluster") }
        for compression in ["zstd", "none"] {
            for work in ["produce", "consume"] {
                cluster.createTopic(named: "\(work)-\(compression)", partitions: partitionsPerTopic)
            }
        }
        print(cluster.brokers.joined(separator: ","))
        fflush(nil)
        var byte: UInt8 = 0
        var isInputOpen = true
        while isInputOpen { isInputOpen = unsafe read(STDIN_FILENO, &byte, 1) > 0 }
    }
}
