internal import CatalogRecords
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

/// The test bed of fan-out: planner and expander in one separate process as in production, a broker that
/// syncs as in production, and this process, which writes registry and sends and reads the results.
final class FanOutTestBed {
    let bed: TestBed
    private let broker: BrokerProcess?
    private let data = NSTemporaryDirectory() + "flotilla-bench-\(UUID().uuidString)"
    private var worker: StageProcess?
    private var memory: PrivateMemorySampler?
    private var startCount = 0
    private let registryWriter: RecordWriter
    private let sendWriter: RecordWriter
    private var tokenCount = 0
    private var sendCount = 0

    init(brokers given: [String]?) throws {
        let shape = BrokerShape(compression: .zstd, partitions: 1)
        broker = given == nil ? try BrokerProcess(.syncedBroker, shape: shape) : nil
        bed = try TestBed(brokers: given ?? [broker!.address], lanes: TopicLayout.lanesDefault)
        registryWriter = try RecordWriter(on: bed, to: .registry)
        sendWriter = try RecordWriter(on: bed, to: .sends)
    }

    func tearDown() throws {
        try stop()
        broker?.stop()
        try? FileManager.default.removeItem(atPath: data)
    }

    // MARK: The stage

    /// Starts a process without state files.
    func start(jobsPerSheet: Int) throws {
        try stop()
        startCount += 1
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        let started = try StageProcess(
            .fanOut, of: CommandLine.arguments[0], on: bed, data: "\(data)/\(startCount)",
            extraArguments: ["--per-sheet", String(jobsPerSheet)])
        worker = started
        memory = PrivateMemorySampler(of: started.process.processID)
    }

    /// The peak of its private memory, in MiB.
    var peakPrivateMiB: Int { memory?.peakMiB ?? 0 }

    /// Throws if the stage has ended. The benchmark started it, so no supervisor starts it again.
    func checkStageIsRunning() throws {
        guard let worker, !worker.isRunning else { return }
        throw BenchmarkFailure("fan-out ended: \(worker.process.errors.suffix(800))")
    }

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
            let end = text.lastIndex(of: ")")
        else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            return 0
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The share of a core below which the stage is idle.
    private static let idleShare = 0.06
    private static let idleSecondsMax = 120.0

    /// Waits until the stage has processed all earlier records.
    ///
    /// - Returns: the seconds that it took.
    func waitUntilIdle() throws -> Double {
        let begun = Instant.now()
        var idleSeconds = 0
        while idleSeconds < 2 {
            let before = processorSeconds
            usleep(1_000_000)
            idleSeconds = processorSeconds - before < Self.idleShare ? idleSeconds + 1 : 0
            try checkStageIsRunning()
            guard Instant.now().seconds(since: begun) < Self.idleSecondsMax else {
                throw BenchmarkFailure("fan-out did not become idle")
            }
        }
        return Instant.now().seconds(since: begun)
    }

    // MARK: Registry

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

    func lane(of user: String) -> Int32 {
        let key = RegistryKey.partitionKey(app: TestBed.app.id, recipient: .user(user))
        return Int32(Murmur2.partition(forKey: key.span, partitionCount: bed.layout.lanes))
    }

    func flushRegistry() throws {
        guard registryWriter.finish() else { throw BenchmarkFailure("the registry was not stored") }
    }

    // MARK: Sends

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
            let ends = try consumer.watermarks(of: TopicPartition(bed.layout.name(of: topic), number))
            return sum + Int(ends.high - ends.low)
        }
    }
}

/// A reader of whole topics from their ends.
final class TopicWatch {
    private let consumer: Consumer
    private var batch = RecordBatch(recordsMax: 10_000, bytesMax: 16 << 20)

    convenience init(topics: [TopicName], bed: TestBed) throws {
        try self.init(topics: topics, settings: bed.settings, layout: bed.layout)
    }

    init(topics: [TopicName], settings: KafkaSettings, layout: TopicLayout) throws {
        consumer = try Consumer(
            settings: settings, options: ConsumerOptions(membership: .manual), name: "watcher", log: .silent,
            metrics: Metrics())
        var starts: [PartitionStart] = []
        for topic in topics {
            for number in 0..<Int32(layout.partitionCount(of: topic)) {
                let partition = TopicPartition(layout.name(of: topic), number)
                starts.append(
                    PartitionStart(
                        partition: partition, position: .offset(try consumer.watermarks(of: partition).high)))
            }
        }
        try consumer.assign(startingAt: starts)
    }

    deinit { _ = consumer.close() }

    /// - Returns: the number of records that were read.
    @discardableResult
    func poll(waitMilliseconds: Int32, forEach body: (borrowing Kafka.Record) -> Void) -> Int {
        _ = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        defer { batch.clear() }
        for index in 0..<batch.count { body(batch[index]) }
        return batch.count
    }
}

/// The time to sync a page to the broker's disk, in milliseconds: the median of several tries.
enum DiskSync {
    static func measureMilliseconds() throws -> Double {
        let path = NSTemporaryDirectory() + "flotilla-bench-sync-\(UUID().uuidString)"
        let file = unsafe open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BenchmarkFailure("cannot create a file in \(NSTemporaryDirectory())") }
        defer {
            close(file)
            unsafe unlink(path)
        }
        let page = [UInt8](repeating: 1, count: 4096)
        var seconds: [Double] = []
        for _ in 0..<50 {
            let begun = Instant.now()
            guard unsafe write(file, page, page.count) == page.count, fdatasync(file) == 0 else {
                throw BenchmarkFailure("cannot write to the disk")
            }
            seconds.append(Instant.now().seconds(since: begun))
        }
        return seconds.median * 1000
    }
}

/// Measured latencies.
struct Latencies: CustomStringConvertible {
    private(set) var seconds: [Double] = []

    mutating func append(_ value: Double) { seconds.append(value) }

    var description: String {
        let sorted = seconds.sorted()
        func milliseconds(at share: Double) -> String {
            guard !sorted.isEmpty else { return "–" }
            let index = min(sorted.count - 1, Int(Double(sorted.count) * share))
            return String(format: "%.1f", sorted[index] * 1000)
        }
        return
            "\(milliseconds(at: 0.5)) ms median, \(milliseconds(at: 0.99)) ms p99, \(milliseconds(at: 1)) ms at most"
    }
}
