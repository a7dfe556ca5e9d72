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

/// A measurement from a gateway's 202 to the job that senders can see: updates to one user, one after the
/// other, through a fan-out as in production.
final class JobVisibilityBenchmark {
    private static let users = 200
    private static let updates = 300
    private static let group = "order"
    private static let millisecondsMax = 60_000

    private let testBed: GatewayTestBed
    private let client: BlockingHTTPClient
    private let urgentJobs: TopicWatch

    init(testBed stand: GatewayTestBed) throws {
        self.testBed = stand
        try stand.startFanOut()
        let registry = try Producer(
            settings: stand.settings, name: "registry", log: .silent, metrics: Metrics())
        let topic = try registry.topic(named: stand.layout.name(of: .registry))
        for number in 0..<Self.users {
            let user = "user-\(number)"
            let key = RegistryKey(
                app: GatewayTestBed.app, recipient: .user(user), installation: "phone-" + user,
                entry: .update(activity: "a-\(number)"))
            let token = NumberedToken.hex(ofNumber: number)
            let row = TokenRow(
                environment: .production, token: token, tokenHash: token, attributesType: "MatchAttributes",
                group: Self.group, registeredAt: 1_763_600_000_000)
            let lane = RegistryKey.partitionKey(app: GatewayTestBed.app, recipient: .user(user))
            _ = registry.send(
                to: topic,
                partition: Int32(Murmur2.partition(forKey: lane.span, partitionCount: stand.layout.lanes)),
                key: key.bytes.span, value: row.encoded().span, tag: 0)
        }
        var deliveries: [Delivery] = []
        guard registry.flush(withinMilliseconds: 30_000, into: &deliveries) == 0,
            deliveries.allSatisfy(\.isStored)
        else { throw BenchmarkFailure("the registry was not stored") }
        urgentJobs = try TopicWatch(topics: [.jobsUrgent], settings: stand.settings, layout: stand.layout)
        client = try BlockingHTTPClient(address: stand.gatewayAddress)
    }

    func measure() throws -> Latencies {
        // After this loop all lanes are restored and have made a job.
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
        let begun = Instant.now()
        while urgentJobs.poll(waitMilliseconds: 100, forEach: { _ in }) == 0 {
            if Instant.now().milliseconds(since: begun) > Self.millisecondsMax {
                throw BenchmarkFailure("a job was lost: \(testBed.fanOutOutput.suffix(800))")
            }
        }
        return Instant.now().seconds(since: begun)
    }
}

/// A connection for one request after the other, from a thread that blocks until the answer.
private final class BlockingHTTPClient {
    private static let millisecondsMax = 10_000

    private let caller: SequentialHTTPClient

    init(address: String) throws {
        guard let address = HostPort(settingText: address) else {
            throw BenchmarkFailure("\(address) is not an address")
        }
        caller = try SequentialHTTPClient(host: address.host, port: address.port, name: "backend")
    }

    deinit { caller.stop() }

    func post(to path: String, key: String, body: [UInt8]) throws -> HTTPClientResponse {
        let request = HTTPClientConnection.Request(method: "POST", path: path, apiKey: key, body: body)
        let outcome = try runBlocking { [caller] in
            await caller.send(request, withinMilliseconds: Self.millisecondsMax)
        }
        switch outcome {
        case .answered(let answer): return answer
        case .failed(let reason): throw BenchmarkFailure(reason)
        }
    }
}
