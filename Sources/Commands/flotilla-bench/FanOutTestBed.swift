internal import CatalogRecords
internal import FanOut
internal import Foundation
internal import Glibc
internal import Identifiers
internal import IngestTesting
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import KafkaTesting
internal import Lifecycle
internal import Payloads
internal import ProcessTesting
internal import RecordFormat
internal import Sends
internal import Telemetry
internal import Topics

/// The test bed of the fan-out benchmarks: planner and expander in one separate process as in production, and a
/// broker that syncs as in production. This process writes the registry and the sends, and reads the results.
final class FanOutTestBed {
    let bed: TestBed
    private let cluster: BenchmarkCluster
    private let dataDirectory = NSTemporaryDirectory() + "flotilla-bench-\(UUID().uuidString)"

    // The stage. The process and its sampler are nil while it does not run.
    private var worker: StageProcess?
    private var memory: PrivateMemorySampler?

    // The records that this process has written.
    private let registryWriter: RecordWriter
    private let sendWriter: RecordWriter
    private var tokenCount = 0
    private var sendCount = 0

    /// - Parameter brokers: the addresses of a running cluster; nil starts a broker.
    init(brokers: [String]?, lanes: Int = TopicLayout.lanesDefault) throws {
        cluster = try BenchmarkCluster(brokers: brokers, orStarting: .syncedBroker)
        bed = try TestBed(brokers: cluster.brokers, lanes: lanes)
        registryWriter = try RecordWriter(on: bed, to: .registry)
        sendWriter = try RecordWriter(on: bed, to: .sends)
    }

    func tearDown() throws {
        try stop()
        cluster.stop()
        try? FileManager.default.removeItem(atPath: dataDirectory)
    }

    // MARK: The stage

    /// Starts the stage in a new process, without state files. The process has the identity of the one before, so that
    /// the group does not wait for the session of a lost member.
    func start(jobsPerSheet: Int) throws {
        try stop()
        try FileManager.default.createDirectory(atPath: dataDirectory, withIntermediateDirectories: true)
        for slot in try FileManager.default.contentsOfDirectory(atPath: dataDirectory) {
            let state = "\(dataDirectory)/\(slot)/\(FanOutService.name)"
            if FileManager.default.fileExists(atPath: state) {
                try FileManager.default.removeItem(atPath: state)
            }
        }
        let newWorker = try StageProcess(
            .fanOut, of: CommandLine.arguments[0], on: bed, data: dataDirectory,
            extraArguments: ["--per-sheet", String(jobsPerSheet)])
        worker = newWorker
        memory = PrivateMemorySampler(of: newWorker.process.processID)
    }

    /// The peak of the stage's private memory, in MiB.
    var peakPrivateMiB: Int { memory?.peakMiB ?? 0 }

    /// Throws if the stage has ended. The benchmark started it, so no supervisor starts it again.
    func checkStageIsRunning() throws {
        guard let worker, !worker.isRunning else { return }
        throw BenchmarkFailure("fan-out ended: \(worker.process.errors.suffix(800))")
    }

    /// Stops the stage, if it runs.
    ///
    /// - Returns: the peak of its private memory, in MiB.
    @discardableResult
    func stop() throws -> Int {
        guard let worker else { return 0 }
        let peakMiB = memory?.stop() ?? 0
        worker.stop()
        let process = worker.process
        _ = try runBlocking { try await process.exitStatus() }
        self.worker = nil
        return peakMiB
    }

    /// Processor seconds of the stage, including all threads of the Kafka client.
    var processorSeconds: Double {
        guard let id = worker?.process.processID,
            let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
            let nameEnd = text.lastIndex(of: ")")
        else { return 0 }
        let fields = text[text.index(after: nameEnd)...].split(separator: " ")
        // Fields 14 and 15 of proc_pid_stat(5), `utime` and `stime`, counted from the third, which follows the name.
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            return 0
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The share of a core below which the stage is idle.
    private static let idleShare = 0.06
    private static let idleSecondsMax = 120.0

    /// Waits until the stage has used nearly no processor time for two seconds, so that it has processed all records.
    ///
    /// - Returns: the seconds that it took.
    func waitUntilIdle() throws -> Double {
        let start = Instant.now()
        var idleSeconds = 0
        while idleSeconds < 2 {
            let processorSecondsBefore = processorSeconds
            usleep(1_000_000)
            idleSeconds =
                processorSeconds - processorSecondsBefore < Self.idleShare ? idleSeconds + 1 : 0
            try checkStageIsRunning()
            guard Instant.now().seconds(since: start) < Self.idleSecondsMax else {
                throw BenchmarkFailure("fan-out did not become idle")
            }
        }
        return Instant.now().seconds(since: start)
    }

    // MARK: Registry

    /// Writes the row of a new token to the registry.
    func registerToken(of user: String, entry: RegistryKey.Entry, group: String? = nil) {
        tokenCount += 1
        let token = NumberedToken.hex(ofNumber: tokenCount)
        let key = RegistryKey(
            app: TestBed.app.id, recipient: .user(user), installation: "phone-" + user, entry: entry)
        let row = TokenRow(
            environment: .production, token: token, tokenHash: token, attributesType: "Match", group: group,
            registeredAt: 1_763_600_000_000 + Int64(tokenCount))
        registryWriter.write(key: key.bytes, value: row.encoded(), partition: lane(of: user))
    }

    /// Returns the partition of a user's registry rows.
    func lane(of user: String) -> Int32 {
        let key = RegistryKey.partitionKey(app: TestBed.app.id, recipient: .user(user))
        return Int32(Murmur2.partition(forKey: key.span, partitionCount: bed.layout.lanes))
    }

    func flushRegistry() throws {
        guard registryWriter.finish() else { throw BenchmarkFailure("the registry was not stored") }
    }

    // MARK: Sends

    /// Writes a send: to the owner of a private group, to everyone for a start, or to the members of the group.
    ///
    /// - Parameters:
    ///   - owner: the owner of a private group.
    ///   - id: the id of the send; nil makes one.
    /// - Returns: the id of the send.
    @discardableResult
    func send(
        _ event: PushEvent, to group: String, state: RawJSON?, owner: String? = nil, id: String? = nil
    ) -> String {
        sendCount += 1
        var content = PushContent(event)
        content.contentState = state
        if event == .start {
            content.attributesType = "Match"
            content.alert = Alert(title: .plain("Kick-off"))
        }
        let audience: Audience = owner.map { .users([$0]) } ?? (event == .start ? .everyone : .group)
        let id = id ?? "r-\(sendCount)"
        var send = Send(
            id: id, app: TestBed.app.id, group: group, audience: audience, content: content,
            priority: .immediate,
            acceptedAt: WallTime.now().milliseconds)
        if let owner { send.owner = .user(owner) }
        sendWriter.write(key: send.scopeKey?.bytes, value: send.encoded())
        return id
    }

    func flushSends() throws {
        guard sendWriter.finish() else { throw BenchmarkFailure("sends were not stored") }
    }

    /// Returns a state that makes a body of this many bytes.
    static func state(bodyBytes: Int) throws -> RawJSON {
        let padding = String(repeating: "x", count: max(1, bodyBytes - 90))
        return try RawJSON(checking: Array("{\"goals\":\"\(padding)\"}".utf8), with: JSONReader())
    }

    // MARK: Reading

    /// Returns a reader of the topics from their current ends.
    func watch(_ topics: [TopicName]) throws -> TopicWatch { try TopicWatch(topics: topics, bed: bed) }

    /// Returns the number of offsets of a topic, including those without a record.
    func recordCount(of topic: TopicName) throws -> Int {
        let consumer = try Consumer(
            settings: bed.settings, options: ConsumerOptions(membership: .manual), name: "watcher",
            log: .silent, metrics: Metrics())
        defer { _ = consumer.close() }
        return try (0..<Int32(bed.layout.partitionCount(of: topic))).reduce(0) { sum, number in
            let watermarks = try consumer.watermarks(of: TopicPartition(bed.layout.name(of: topic), number))
            return sum + Int(watermarks.high - watermarks.low)
        }
    }
}
