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
    private static let users = 200
    private static let updates = 300
    private static let group = "order"
    /// The time after which a job counts as lost.
    private static let millisecondsMax = 60_000

    private let testBed: GatewayTestBed
    private let client: BlockingHTTPClient
    private let urgentJobs: TopicWatch

    init(testBed: GatewayTestBed) throws {
        self.testBed = testBed
        try testBed.startFanOut()
        let registry = try Producer(
            settings: testBed.settings, name: "registry", log: .silent, metrics: Metrics())
        let topic = try registry.topic(named: testBed.layout.name(of: .registry))
        for number in 0..<Self.users {
            let user = "user-\(number)"
            let key = RegistryKey(
                app: GatewayTestBed.app, recipient: .user(user), installation: "phone-" + user,
                entry: .update(activity: "a-\(number)"))
            let token = NumberedToken.hex(ofNumber: number)
            let row = TokenRow(
                environment: .production, token: token, tokenHash: token, attributesType: "MatchAttributes",
                group: Self.group, registeredAt: 1_763_600_000_000)
            let partitionKey = RegistryKey.partitionKey(app: GatewayTestBed.app, recipient: .user(user))
            _ = registry.send(
                to: topic,
                partition: Int32(
                    Murmur2.partition(forKey: partitionKey.span, partitionCount: testBed.layout.lanes)),
                key: key.bytes.span, value: row.encoded().span, tag: 0)
        }
        var deliveries: [Delivery] = []
        guard registry.flush(withinMilliseconds: 30_000, into: &deliveries) == 0,
            deliveries.allSatisfy(\.isStored)
        else { throw BenchmarkFailure("the registry was not stored") }
        urgentJobs = try TopicWatch(topics: [.jobsUrgent], settings: testBed.settings, layout: testBed.layout)
        client = try BlockingHTTPClient(address: testBed.gatewayAddress)
    }

    func measure() throws -> Latencies {
        // The first updates wait until fan-out has restored their lanes, so they are not measured.
        for number in 0..<Self.users { _ = try seconds(ofUpdateTo: number) }
        var latencies = Latencies()
        for number in 0..<Self.updates { latencies.append(try seconds(ofUpdateTo: number % Self.users)) }
        return latencies
    }

    /// Returns the seconds from the gateway's answer to the visible job.
    private func seconds(ofUpdateTo number: Int) throws -> Double {
        let body =
            #"{"event":"update","groupId":"\#(Self.group)","private":true,"audience":{"users":["user-\#(number)"]},"#
            + #""contentState":{"homeTeamScore":1,"awayTeamScore":0,"matchStatus":"x"}}"#
        let answer = try client.post(to: "/v1/sends", key: testBed.key, body: Array(body.utf8))
        guard answer.status == 202 else {
            throw BenchmarkFailure(
                "\(answer.status): \(String(decoding: answer.body ?? [], as: UTF8.self))")
        }
        let start = Instant.now()
        while urgentJobs.poll(waitMilliseconds: 100, forEach: { _ in }) == 0 {
            if Instant.now().milliseconds(since: start) > Self.millisecondsMax {
                throw BenchmarkFailure("a job was lost: \(testBed.fanOutOutput.suffix(800))")
            }
        }
        return Instant.now().seconds(since: start)
    }
}

/// A connection for one request after the other, from a thread that blocks until the answer.
private final class BlockingHTTPClient {
    private static let millisecondsMax = 10_000

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
            await client.send(request, withinMilliseconds: Self.millisecondsMax)
        }
        switch outcome {
        case .answered(let response): return response
        case .failed(let reason): throw BenchmarkFailure(reason)
        }
    }
}
