internal import HTTPClient
internal import Identifiers
internal import IngestTesting
internal import InstallationRecords
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Settings
internal import Telemetry
internal import Topics

/// A measurement from a gateway's 202 to the job that senders can read from Kafka: updates to one user, one after
/// the other, through a fan-out as in production.
final class JobVisibilityBenchmark {
    private static let userCount = 200
    private static let updateCount = 300
    /// Each user has a private group of this name, with one phone and one activity.
    private static let group = "order"
    /// Milliseconds since 1970, in November 2025.
    private static let registeredAt: Int64 = 1_763_600_000_000
    /// The time after which a job counts as lost.
    private static let jobWaitMillisecondsMax = 60_000

    private let testBed: GatewayTestBed
    private let client: BlockingHTTPClient
    /// The reader of the jobs. Updates to one user are urgent.
    private let urgentJobs: TopicWatch

    /// Starts fan-out in the test bed, and registers a token for each user.
    init(testBed: GatewayTestBed) throws {
        self.testBed = testBed
        try testBed.startFanOut()
        try Self.writeRegistry(of: testBed)
        urgentJobs = try TopicWatch(topics: [.jobsUrgent], settings: testBed.settings, layout: testBed.layout)
        client = try BlockingHTTPClient(address: testBed.gatewayAddress)
    }

    func measure() throws -> Latencies {
        // The first updates wait until fan-out has restored their lanes, so they are not measured.
        for number in 0..<Self.userCount { _ = try updateAndWaitForJob(user: number) }
        var latencies = Latencies()
        for number in 0..<Self.updateCount {
            latencies.append(try updateAndWaitForJob(user: number % Self.userCount))
        }
        return latencies
    }

    /// Posts an update to a user, and waits until its job is visible.
    ///
    /// - Returns: the seconds from the gateway's answer to the visible job.
    private func updateAndWaitForJob(user number: Int) throws -> Double {
        let body =
            #"{"event":"update","groupId":"\#(Self.group)","private":true,"audience":{"users":["\#(Self.user(number: number))"]},"#
            + #""contentState":{"homeTeamScore":1,"awayTeamScore":0,"matchStatus":"x"}}"#
        let answer = try client.post(to: "/v1/sends", key: testBed.key, body: Array(body.utf8))
        guard answer.status == 202 else {
            throw BenchmarkFailure(
                "\(answer.status): \(String(decoding: answer.body ?? [], as: UTF8.self))")
        }
        let answeredAt = Instant.now()
        while urgentJobs.poll(waitMilliseconds: 100, forEach: { _ in }) == 0 {
            if Instant.now().milliseconds(since: answeredAt) > Self.jobWaitMillisecondsMax {
                throw BenchmarkFailure("a job was lost: \(testBed.fanOutOutput.suffix(800))")
            }
        }
        return Instant.now().seconds(since: answeredAt)
    }

    // MARK: The registry

    private static func user(number: Int) -> String { "user-\(number)" }

    /// Writes one update token for each user, so that every update gives exactly one job.
    private static func writeRegistry(of testBed: GatewayTestBed) throws {
        let producer = try Producer(
            settings: testBed.settings, name: "registry", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: testBed.layout.name(of: .registry))
        for number in 0..<userCount {
            let (key, row) = registryRow(ofUser: number)
            let partitionKey = RegistryKey.partitionKey(app: key.app, recipient: key.recipient)
            let lane = Murmur2.partition(
                forKey: partitionKey.span, partitionCount: testBed.layout.lanes)
            // All rows fit into the queue.
            _ = producer.send(
                to: topic, partition: Int32(lane), key: key.bytes.span, value: row.encoded().span, tag: 0)
        }
        var deliveries: [Delivery] = []
        let unsentCount = producer.flush(withinMilliseconds: 30_000, into: &deliveries)
        guard unsentCount == 0, deliveries.allSatisfy(\.isStored) else {
            throw BenchmarkFailure("the registry was not stored")
        }
    }

    private static func registryRow(ofUser number: Int) -> (key: RegistryKey, row: TokenRow) {
        let userID = user(number: number)
        let key = RegistryKey(
            app: GatewayTestBed.app, recipient: .user(userID), installation: "phone-" + userID,
            entry: .update(activity: "a-\(number)"))
        let token = NumberedToken.hex(ofNumber: number)
        // A hash needs only to be unique and to have 32 hex digits, so the token is used for both.
        let row = TokenRow(
            environment: .production, token: token, tokenHash: token, attributesType: "MatchAttributes",
            group: group, registeredAt: registeredAt)
        return (key, row)
    }
}

/// A connection for one request after the other, from a thread that blocks until the answer.
private final class BlockingHTTPClient {
    private static let answerWaitMillisecondsMax = 10_000

    private let client: SequentialHTTPClient

    init(address text: String) throws {
        guard let address = HostPort(settingText: text) else {
            throw BenchmarkFailure("\(text) is not an address")
        }
        client = try SequentialHTTPClient(host: address.host, port: address.port, name: "backend")
    }

    deinit { client.stop() }

    func post(to path: String, key: String, body: [UInt8]) throws -> HTTPClientResponse {
        let request = HTTPClientConnection.Request(method: "POST", path: path, apiKey: key, body: body)
        let outcome = try runBlocking { [client] in
            await client.send(request, withinMilliseconds: Self.answerWaitMillisecondsMax)
        }
        switch outcome {
        case .answered(let response): return response
        case .failed(let reason): throw BenchmarkFailure(reason)
        }
    }
}
