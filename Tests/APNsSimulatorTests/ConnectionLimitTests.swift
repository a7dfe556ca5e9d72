import APNs
import Cryptography
import HTTP2
import Identifiers
import JSON
import Lifecycle
import Payloads
import ProcessTesting
import TLS
import Testing

@testable import APNsSimulator

/// The number of streams that a connection may have open, and its end.
///
/// Answers with errors give points. Enough points halve the streams, and too many close the connection.
@Suite struct ConnectionLimitTests {
    @Test func `a connection has one stream until its first good push, then a thousand`() async throws {
        let simulator = try RunningSimulator()
        let client = simulator.client()
        #expect(await client.send(.push(nil)).reason == "MissingProviderToken")
        // SETTINGS and the answer may arrive together.
        try await eventually("one stream") { client.streamsMax == [1] }
        #expect(await client.send(.push(simulator.makeProviderToken())).status == 200)
        try await eventually("more streams") { client.streamsMax == [1, 1_000] }
    }

    @Test func `errors halve the streams, bad tokens sooner, and 410 never`() {
        var settings = StreamSettings()
        settings.initialStreams = 100
        settings.streamsMax = 100
        var connection = ConnectionState(settings: settings)
        // A 400 gives one point, and a bad token five. The streams are halved every 50 points, and the connection is
        // closed at 500.
        for _ in 0..<1_000 { #expect(connection.recordAnswer(status: 410, isBadToken: false) == .none) }
        for _ in 0..<49 { #expect(connection.recordAnswer(status: 400, isBadToken: false) == .none) }
        #expect(connection.recordAnswer(status: 400, isBadToken: false) == .allow(streams: 50))
        for _ in 0..<9 { #expect(connection.recordAnswer(status: 400, isBadToken: true) == .none) }
        #expect(connection.recordAnswer(status: 400, isBadToken: true) == .allow(streams: 25))
        for _ in 0..<79 { #expect(connection.recordAnswer(status: 400, isBadToken: true) != .close) }
        #expect(connection.recordAnswer(status: 400, isBadToken: true) == .close)
    }

    @Test func `good pushes restore the streams`() async throws {
        let phones = KnownTokens([PushToken(hex: "aa")!: .unknown])
        let simulator = try RunningSimulator(phones: phones) { $0.streams.pointsPerHalving = 10 }
        let client = simulator.client()
        let acceptedPush = TestRequest.push(simulator.makeProviderToken())
        #expect(await client.send(acceptedPush).status == 200)
        for _ in 0..<2 { #expect(await client.send(acceptedPush.at("/3/device/aa")).status == 400) }
        try await eventually("fewer streams") { client.streamsMax.last == 500 }
        for _ in 0..<10 { #expect(await client.send(acceptedPush).status == 200) }
        try await eventually("all streams") { client.streamsMax.last == 1_000 }
    }

    @Test func `too many errors close the connection with a reason`() async throws {
        let phones = KnownTokens([PushToken(hex: "aa")!: .unknown])
        let simulator = try RunningSimulator(phones: phones) { $0.streams.pointsMax = 10 }
        let client = simulator.client()
        let pushToUnknownToken = TestRequest.push(simulator.makeProviderToken()).at("/3/device/aa")
        #expect(await client.send(pushToUnknownToken).status == 400)
        #expect(await client.send(pushToUnknownToken).status == 400)
        try await eventually("the GOAWAY") { client.goaway != nil }
        #expect(
            client.goaway.map { String(decoding: $0.debug, as: UTF8.self) } == #"{"reason":"BadDeviceToken"}"#
        )
        try await eventually("the end") { client.closeReason != nil }
    }

    @Test func `an idle connection gets a GOAWAY`() async throws {
        let simulator = try RunningSimulator { $0.idleMilliseconds = 300 }
        let client = simulator.client()
        #expect(await client.send(.push(simulator.makeProviderToken())).status == 200)
        try await eventually("the GOAWAY") { client.goaway != nil }
        #expect(client.goaway?.lastStream == 1)
        #expect(
            client.goaway.map { String(decoding: $0.debug, as: UTF8.self) } == #"{"reason":"IdleTimeout"}"#)
        try await eventually("the end") { client.closeReason != nil }
    }

    @Test func `stopping answers the started requests and sends Shutdown`() async throws {
        let delayed = InjectedFault(delayMilliseconds: 300)
        let simulator = try RunningSimulator(faultInjector: FaultsByRequest { _ in delayed })
        let client = simulator.client()
        async let answer = client.send(.push(simulator.makeProviderToken()))
        try await eventually("the request") {
            (simulator.loop.perform { simulator.simulator.requestsReceived } ?? 0) == 1
        }
        await simulator.simulator.stop(by: Instant.now().advanced(byMilliseconds: 30_000))
        #expect(await answer.status == 200)
        #expect(client.goaway.map { String(decoding: $0.debug, as: UTF8.self) } == #"{"reason":"Shutdown"}"#)
        try await eventually("the end") { client.closeReason != nil }
    }

    @Test func `stopping closes the remaining connections at the deadline`() async throws {
        let simulator = try RunningSimulator(
            faultInjector: FaultsByRequest { _ in
                InjectedFault(delayMilliseconds: 3_600_000)
            })
        let client = simulator.client()
        async let answer = client.send(.push(simulator.makeProviderToken()))
        try await eventually("the request") {
            (simulator.loop.perform { simulator.simulator.requestsReceived } ?? 0) == 1
        }
        await simulator.simulator.stop(by: Instant.now().advanced(byMilliseconds: 100))
        #expect(await answer.end == .connectionLost)
    }

    @Test func `a token gets no more pushes than its rate limit allows`() async throws {
        let simulator = try RunningSimulator {
            $0.rateLimit = RateLimitSettings(burst: 3, refillMilliseconds: 3_600_000)
        }
        let client = simulator.client()
        let request = TestRequest.push(simulator.makeProviderToken())
        for _ in 0..<3 { #expect(await client.send(request).status == 200) }
        let fourth = await client.send(request)
        #expect(fourth.status == 429 && fourth.reason == "TooManyRequests")
        #expect(
            await client.send(request.at("/3/device/abcd")).status == 200, "another token has its own limit")
    }

    @Test func `a token's allowance of pushes refills`() {
        var rateLimiter = PushRateLimiter(settings: RateLimitSettings(burst: 2, refillMilliseconds: 1_000))
        let token = Array("abcd".utf8)
        let times: [Int64] = [0, 0, 0, 999, 1_000, 1_000, 10_000, 10_000, 10_000]
        #expect(
            times.map { rateLimiter.takePush(to: token.span, at: $0) } == [
                true, true, false, false, true, false, true, true, false,
            ])
    }

    @Test func `the sandbox answers with a unique id, and production does not`() async throws {
        let simulator = try RunningSimulator()
        let sandbox = await simulator.client(.sandbox).send(.push(simulator.makeProviderToken()))
        #expect(sandbox.status == 200 && sandbox.headers["apns-unique-id"]?.utf8.count == 36)
        let production = await simulator.client().send(
            .push(simulator.makeProviderToken()).setting("apns-id", nil))
        #expect(production.status == 200 && production.headers["apns-unique-id"] == nil)
        let id = try #require(production.headers["apns-id"])
        let isUUID = PushID(canonical: id) != nil
        #expect(isUUID)
    }

    @Test func `phones get the parsed fields of a push, and the ticks of the clock`() async throws {
        let phones = KnownTokens()
        let simulator = try RunningSimulator(phones: phones)
        let client = simulator.client(.sandbox)
        let start = #"""
            {"aps":{"timestamp":1763632800,"event":"start","content-state":{"home": 1.0},\#
            "attributes-type":"Match","attributes":{"teams":["a","b"]},"alert":{"title":"Kick-off"},\#
            "stale-date":1763633000,"relevance-score":0.5,"input-push-token":1,\#
            "input-push-channel":"QUJD","dismissal-date":"soon"}}
            """#
        let request = TestRequest.push(simulator.makeProviderToken()).with(body: start).setting(
            "apns-priority", "5")
        #expect(await client.send(request.setting("apns-expiration", "1763640000")).status == 200)
        #expect(await client.send(request.with(body: #"{"aps":{"event":"dance"}}"#)).status == 200)
        #expect(
            await client.send(request.with(body: #"{"aps":{}}"#).setting("apns-expiration", nil)).status
                == 200)
        let pushes = phones.delivered
        try #require(pushes.count == 3)
        #expect(pushes[0].target == .token(PushToken(hex: TestRequest.token)!))
        #expect(pushes[0].environment == .sandbox && pushes[0].bundleID == RunningSimulator.app)
        #expect(pushes[0].priority == 5 && pushes[0].expiration == 1_763_640_000)
        let payload = pushes[0].payload
        #expect(payload.event == .start && payload.timestamp == 1_763_632_800)
        #expect(payload.contentState.map { String(decoding: $0.bytes, as: UTF8.self) } == #"{"home": 1.0}"#)
        #expect(payload.attributesType == "Match" && payload.hasAlert && payload.requestsUpdateToken)
        #expect(
            payload.attributes.map { String(decoding: $0.bytes, as: UTF8.self) } == #"{"teams":["a","b"]}"#)
        #expect(payload.staleDate == 1_763_633_000 && payload.dismissalDate == nil)
        #expect(payload.relevanceScore == 0.5 && payload.channel == "QUJD")
        #expect(pushes[1].payload.event == nil && pushes[2].expiration == nil)
        try await eventually("more ticks of the clock") { phones.tickCount > 1 }
    }
}
