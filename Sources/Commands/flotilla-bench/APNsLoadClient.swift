internal import APNs
internal import Cryptography
internal import Foundation
internal import Identifiers
internal import Lifecycle
internal import Payloads
internal import TLS
internal import Telemetry

/// A client process of the benchmark. It pushes as fast as the connections allow: first until all connections
/// are open, which is not measured, then `requests` more. Confined to its loop.
final class APNsLoadClient: PushReceiver {
    private let loop: EventLoop
    private let provider: APNsProvider
    private let profile: PushProfile
    private let requests: Int
    private let bodyBytes: Int
    private let tokens: [UInt8]
    private var client: APNsClient?
    private var template: PushTemplate?
    private var pushedCount = 0
    private var answeredCount = 0
    /// The number of pushes at which the measurement ends, and its start. Nil until all connections are open.
    private var measurement: (pushCount: Int, startedAt: Instant)?
    private let createdAt = Instant.now()
    private let result: FirstResult<String>

    private static let tokenBytes = 32
    private static let connectMillisecondsMax = 30_000

    private init(options: APNsOptions, port: Int, on loop: EventLoop, result: FirstResult<String>) throws {
        self.loop = loop
        self.result = result
        let shape = options.shapes[0]
        requests = options.requests
        bodyBytes = shape.bodyBytes
        var tokens: [UInt8] = []
        for index in 0..<PushLoad.tokenCount { PushLoad.appendToken(at: index, to: &tokens) }
        self.tokens = tokens
        let key = ProviderKeyName(teamID: "TEAM123456", keyID: "KEY1234567")
        profile = PushProfile(environment: .production, bundleID: "com.example.matchday", key: key)
        var settings = APNsSettings()
        let server = Endpoint(host: "127.0.0.1", port: port)
        settings.production = .init(push: server, broadcast: server, channels: server)
        settings.trust = .authorities(.file(options.certificate))
        settings.connectBurst = APNsOptions.connections
        settings.pool.connectionsMax = APNsOptions.connections
        settings.pool.streamsPerConnectionMax = shape.streams
        settings.pool.requestsMax = APNsOptions.connections * shape.streams
        let metrics = Metrics()
        let providerTokens = ProviderTokens(source: .files([key: options.key]), metrics: metrics)
        if let problem = providerTokens.reload().first { throw problem }
        provider = try APNsProvider(
            settings: settings, tokens: providerTokens, metrics: metrics, log: .silent)
    }

    static func run(options: APNsOptions, port: Int) throws {
        let result = FirstResult<String>()
        let load = try LoopOwned<APNsLoadClient>(thread: "bench") {
            let load = try APNsLoadClient(options: options, port: port, on: $0.loop, result: result)
            load.startPushing()
            return load
        }
        defer { load.stop() }
        print(try result.wait())
    }

    private func startPushing() {
        let client = APNsClient(provider: provider, on: loop, receiver: self)
        let headers = LiveActivityHeaders(
            topic: "com.example.matchday.push-type.liveactivity", priority: .immediate,
            expiration: 1_763_632_800)
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: bodyBytes)
        self.client = client
        template = try? client.template(profile, headers, body: body)
        pushUntilFull()
    }

    private func pushUntilFull() {
        guard let client, let template else {
            return complete(with: .failure(BenchmarkFailure("no template")))
        }
        let deadline = loop.now.advanced(byMilliseconds: 60_000)
        let pushCountMax = measurement?.pushCount ?? .max
        let tokens = tokens
        var capacity = client.capacity(for: template)
        while pushedCount < pushCountMax, capacity > 0 {
            capacity -= 1
            let start = pushedCount % PushLoad.tokenCount * Self.tokenBytes
            do {
                try client.push(
                    template, token: tokens.span.extracting(start..<start + Self.tokenBytes),
                    id: PushID(high: 0x4D3F_8A11_22C3_4E5F, low: UInt64(pushedCount)),
                    tag: UInt64(pushedCount), deadlines: PushDeadlines(deadline: deadline))
            } catch {
                // The client takes no more for now. The next outcomes call this function again.
                return
            }
            pushedCount += 1
        }
    }

    func receive(_ outcomes: PushOutcomes) {
        for outcome in outcomes.list {
            guard outcome.disposition == .accepted else {
                return complete(
                    with: .failure(BenchmarkFailure("push \(outcome.tag) ended as \(outcome.end)")))
            }
        }
        answeredCount += outcomes.list.count
        if measurement == nil { startMeasuringIfConnected() }
        if let measurement, answeredCount == measurement.pushCount {
            return reportResult(since: measurement.startedAt)
        }
        pushUntilFull()
    }

    private func startMeasuringIfConnected() {
        if client?.health(of: profile)?.connections == APNsOptions.connections {
            measurement = (pushedCount + requests, Instant.now())
        } else if Instant.now().milliseconds(since: createdAt) > Self.connectMillisecondsMax {
            complete(with: .failure(BenchmarkFailure("the client did not open all its connections")))
        }
    }

    /// Prints the result in the format of h2load, so that one parser reads both. The processor time includes
    /// the pushes before the measurement.
    private func reportResult(since start: Instant) {
        let seconds = Instant.now().seconds(since: start)
        let rate = Double(requests) / seconds
        complete(with: .success("finished in \(seconds)s, \(rate) req/s\npushes \(answeredCount)"))
    }

    private func complete(with outcome: Result<String, any Error>) {
        result.complete(with: outcome)
    }
}
