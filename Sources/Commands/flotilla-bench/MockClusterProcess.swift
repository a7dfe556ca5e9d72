internal import Glibc
internal import KafkaTesting

/// librdkafka's mock cluster in a separate process, so that its work is not counted as the client's. It ends when its
/// standard input closes, which happens when this process ends.
final class MockClusterProcess {
    let brokers: String
    private let process: pid_t
    private let input: Int32

    init() throws {
        var toChild: [Int32] = [0, 0]
        var fromChild: [Int32] = [0, 0]
        guard unsafe pipe(&toChild) == 0, unsafe pipe(&fromChild) == 0 else {
            throw BenchmarkFailure("no pipe for the mock cluster's process")
        }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
        unsafe posix_spawn_file_actions_addclose(&actions, toChild[1])
        unsafe posix_spawn_file_actions_addclose(&actions, fromChild[0])
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        let words: [UnsafeMutablePointer<CChar>?] = unsafe [
            strdup("flotilla-bench"), strdup("kafka"), strdup("--serve-mock"), nil,
        ]
        var id: pid_t = 0
        guard unsafe posix_spawn(&id, "/proc/self/exe", &actions, nil, words, environ) == 0 else {
            throw BenchmarkFailure("no process for the mock cluster")
        }
        close(toChild[0])
        close(fromChild[1])
        process = id
        input = toChild[1]
        var text = [UInt8](repeating: 0, count: 256)
        let count = unsafe read(fromChild[0], &text, text.count)
        close(fromChild[0])
        brokers = String(decoding: text.prefix(max(0, count)).prefix { $0 != 0x0A }, as: UTF8.self)
        if brokers.isEmpty { throw BenchmarkFailure("the mock cluster's process did not start") }
    }

    deinit {
        close(input)
        var status: Int32 = 0
        unsafe waitpid(process, &status, 0)
    }

    static func serve() throws {
        guard let cluster = MockCluster(brokers: 1) else { throw BenchmarkFailure("no mock cluster") }
        for compression in ["zstd", "none"] {
            cluster.createTopic(named: "produce-\(compression)", partitions: 4)
            cluster.createTopic(named: "consume-\(compression)", partitions: 4)
        }
        print(cluster.brokers.joined(separator: ","))
        fflush(nil)
        var byte: UInt8 = 0
        while unsafe read(0, &byte, 1) > 0 {}
    }
}
