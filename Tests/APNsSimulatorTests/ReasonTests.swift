import APNs
import Cryptography
import Identifiers
import Testing

@testable import APNsSimulator

/// One row for each way to cause a reason of APNs by a request alone. Each request has its own connection.
@Suite struct ReasonTests {
    /// A way to spoil a valid request, and the reason with which APNs refuses it.
    struct Row: Sendable, CustomTestStringConvertible {
        let reason: APNsReason
        let cause: String
        var environment = Environment.production
        let spoil: @Sendable (TestRequest, RunningSimulator) -> TestRequest
        var testDescription: String { "\(reason.rawValue): \(cause)" }
    }

    /// Returns a row for a request with a changed path, header or body.
    private static func row(
        _ reason: APNsReason, _ cause: String, _ environment: Environment = .production,
        _ spoil: @escaping @Sendable (TestRequest) -> TestRequest
    ) -> Row { Row(reason: reason, cause: cause, environment: environment) { request, _ in spoil(request) } }

    /// Returns a row for a request with another provider token, or with none.
    private static func bearer(
        _ reason: APNsReason, _ cause: String, _ environment: Environment = .production,
        _ token: @escaping @Sendable (RunningSimulator) -> String?
    ) -> Row {
        Row(reason: reason, cause: cause, environment: environment) { request, simulator in
            request.setting("authorization", token(simulator).map { "bearer \($0)" })
        }
    }

    /// A key that the simulator does not know.
    static let strangeKey = SigningKey()
    static let sandboxKeyID = "SANDBOXKEY"
    static let sandboxKey = SigningKey()
    /// A key for another app than the one of the tests.
    static let otherAppKeyID = "NARROWKEY1"
    static let otherAppKey = SigningKey()
    static let topic = RunningSimulator.app + ".push-type.liveactivity"

    /// Tokens for which APNs has another status than valid.
    static let deadTokens = [
        "aa": TokenStatus.unknown, "ab": .wrongTopic, "ac": .unregistered(since: 1_763_632_800_123),
        "ad": .expired(since: 1_763_632_800_456),
    ]

    static func startSimulator() throws -> RunningSimulator {
        let statuses = deadTokens.map { (PushToken(hex: $0.key)!, $0.value) }
        return try RunningSimulator(phones: KnownTokens(Dictionary(uniqueKeysWithValues: statuses))) {
            $0.keys = [
                ProviderKey(
                    keyID: sandboxKeyID, teamID: SimulatorCredentials.teamID, key: sandboxKey.verifyingKey,
                    environments: [.sandbox]),
                ProviderKey(
                    keyID: otherAppKeyID, teamID: SimulatorCredentials.teamID, key: otherAppKey.verifyingKey,
                    apps: ["com.example.other"]),
            ]
            $0.apps = [
                RunningSimulator.app: SimulatedApp(), "com.example.other": SimulatedApp(),
                "com.example.quiet": SimulatedApp(mayBroadcast: false),
            ]
            $0.channelsMax = 2
        }
    }

    static let pushes: [Row] = [
        row(.badPath, "no such path") { $0.at("/2/device/aa") },
        row(.badPath, "more after the token") { $0.at("/3/device/aa/bb") },
        row(.badPath, "a channel's path on the push port") { $0.at("/1/apps/x/channels") },
        row(.methodNotAllowed, "GET") { $0.with(method: "GET").with(body: "") },
        row(.missingDeviceToken, "nothing after the slash") { $0.at("/3/device/") },
        row(.missingDeviceToken, "no slash") { $0.at("/3/device") },
        row(.badDeviceToken, "no hexadecimal digits") { $0.at("/3/device/xyzw") },
        row(.badDeviceToken, "an odd number of digits") { $0.at("/3/device/abc") },
        row(.badDeviceToken, "nobody's") { $0.at("/3/device/aa") },
        row(.deviceTokenNotForTopic, "another app's") { $0.at("/3/device/ab") },
        row(.unregistered, "gone") { $0.at("/3/device/ac") },
        row(.expiredToken, "expired") { $0.at("/3/device/ad") },
        row(.duplicateHeaders, "two topics") { $0.adding("apns-topic", topic) },
        row(.duplicateHeaders, "two ids") { $0.adding("apns-id", TestRequest.id) },
        row(.missingTopic, "none") { $0.setting("apns-topic", nil) },
        row(.badTopic, "without the suffix") { $0.setting("apns-topic", RunningSimulator.app) },
        row(.badTopic, "the suffix alone") { $0.setting("apns-topic", ".push-type.liveactivity") },
        row(.badTopic, "without the dot") {
            $0.setting("apns-topic", RunningSimulator.app + "push-type.liveactivity")
        },
        row(.badTopic, "nobody's app") {
            $0.setting("apns-topic", "com.example.nobody.push-type.liveactivity")
        },
        row(.invalidPushType, "none") { $0.setting("apns-push-type", nil) },
        row(.invalidPushType, "alert") { $0.setting("apns-push-type", "alert") },
        row(.badPriority, "7") { $0.setting("apns-priority", "7") },
        row(.badPriority, "010") { $0.setting("apns-priority", "010") },
        row(.badExpirationDate, "a word") { $0.setting("apns-expiration", "soon") },
        row(.badExpirationDate, "negative") { $0.setting("apns-expiration", "-1") },
        row(.badExpirationDate, "a fraction") { $0.setting("apns-expiration", "1.5") },
        row(.badMessageID, "no UUID") { $0.setting("apns-id", "1234") },
        row(.badMessageID, "capital letters") { $0.setting("apns-id", TestRequest.id.uppercased()) },
        row(.badCollapseID, "65 bytes") {
            $0.adding("apns-collapse-id", String(repeating: "x", count: 65))
        },
        row(.badCollapseID, "33 letters of two bytes") {
            $0.adding("apns-collapse-id", String(repeating: "ü", count: 33))
        },
        row(.payloadEmpty, "no body") { $0.with(body: "") },
        row(.payloadEmpty, "no JSON") { $0.with(body: "hello") },
        row(.payloadEmpty, "no object") { $0.with(body: "[]") },
        row(.payloadEmpty, "no aps") { $0.with(body: "{}") },
        row(.payloadEmpty, "an aps of the wrong type") { $0.with(body: #"{"aps":[{"event":"update"}]}"#) },
        row(.payloadTooLarge, "4,097 bytes") { $0.with(body: paddedBody(byteCount: 4_097)) },
        row(.payloadTooLarge, "20,000 bytes") { $0.with(body: paddedBody(byteCount: 20_000)) },
        row(.payloadTooLarge, "200,000 bytes, answered before all have arrived") {
            $0.with(body: paddedBody(byteCount: 200_000))
        },
        bearer(.missingProviderToken, "none") { _ in nil },
        bearer(.invalidProviderToken, "no JWT") { _ in "hello" },
        bearer(.invalidProviderToken, "another key") { $0.makeProviderToken(key: strangeKey) },
        bearer(.invalidProviderToken, "an unknown key id") { $0.makeProviderToken(keyID: "ABCDEFGHIJ") },
        bearer(.invalidProviderToken, "another team") { $0.makeProviderToken(teamID: "OTHERTEAM1") },
        bearer(.expiredProviderToken, "61 minutes old") { $0.makeProviderToken(age: 3_660) },
        bearer(.expiredProviderToken, "ten minutes ahead") { $0.makeProviderToken(age: -600) },
        bearer(.badEnvironmentKey, "a key of the sandbox") {
            $0.makeProviderToken(keyID: sandboxKeyID, key: sandboxKey)
        },
        bearer(.topicDisallowed, "a key of another app") {
            $0.makeProviderToken(keyID: otherAppKeyID, key: otherAppKey)
        },
    ]

    /// Returns an update whose body has exactly that many bytes.
    static func paddedBody(byteCount: Int) -> String {
        let (head, tail) = (#"{"aps":{"timestamp":1,"event":"update","content-state":{"x":""#, #""}}}"#)
        return head + String(repeating: "x", count: byteCount - head.utf8.count - tail.utf8.count) + tail
    }

    @Test func `each fault of a push to a token has its reason`() async throws {
        let simulator = try Self.startSimulator()
        for row in Self.pushes {
            let client = simulator.client(row.environment)
            let request = row.spoil(.push(simulator.makeProviderToken()), simulator)
            let answer = await client.send(request)
            #expect(answer.reason == row.reason.rawValue, "\(row.testDescription): \(answer)")
            #expect(answer.status == row.reason.status, "\(row.testDescription): \(answer)")
            if row.cause != "two ids" {
                let hasValidID = row.reason != .badMessageID
                #expect((answer.headers["apns-id"] == TestRequest.id) == hasValidID)
            }
            #expect(answer.headers["apns-unique-id"] == nil)
        }
    }

    @Test func `the answer for a dead token has the time of its death`() async throws {
        let simulator = try Self.startSimulator()
        let client = simulator.client()
        let unregistered = await client.send(.push(simulator.makeProviderToken()).at("/3/device/ac"))
        #expect(unregistered.body == #"{"reason":"Unregistered","timestamp":1763632800123}"#)
        let bearer = simulator.makeProviderToken()
        let expired = await simulator.client().send(.push(bearer).at("/3/device/ad"))
        #expect(expired.timestamp == 1_763_632_800_456)
    }

    static let broadcasts: [Row] = [
        row(.methodNotAllowed, "GET") { $0.with(method: "GET").with(body: "") },
        row(.badPath, "no app") { $0.at("/4/broadcasts/apps/") },
        row(.topicDisallowed, "the suffix in the bundle id") {
            $0.at("/4/broadcasts/apps/\(topic)")
        },
        row(.featureNotEnabled, "an app without the capability") {
            $0.at("/4/broadcasts/apps/com.example.quiet")
        },
        bearer(.topicMismatch, "a key of another app") {
            $0.makeProviderToken(keyID: otherAppKeyID, key: otherAppKey)
        },
        bearer(.missingProviderToken, "none") { _ in nil },
        bearer(.expiredProviderToken, "61 minutes old") { $0.makeProviderToken(age: 3_660) },
        row(.missingChannelID, "none") { $0.setting("apns-channel-id", nil) },
        row(.badChannelID, "no base64") { $0.setting("apns-channel-id", "???") },
        row(.channelNotRegistered, "nobody's") { $0.setting("apns-channel-id", "AAAA") },
        row(.badRequestParameters, "a topic") { $0.adding("apns-topic", topic) },
        row(.missingPushType, "none") { $0.setting("apns-push-type", nil) },
        row(.invalidPushType, "alert") { $0.setting("apns-push-type", "alert") },
        row(.badPriority, "none") { $0.setting("apns-priority", nil) },
        row(.badPriority, "7") { $0.setting("apns-priority", "7") },
        row(.badExpirationDate, "none") { $0.setting("apns-expiration", nil) },
        row(.badExpirationDate, "not 0 although nothing is stored") {
            $0.setting("apns-expiration", "1763632800")
        },
        row(.badMessageID, "no UUID") { $0.setting("apns-request-id", "1") },
        row(.payloadEmpty, "no body") { $0.with(body: "") },
        row(.badRequestPayload, "no JSON") { $0.with(body: "hello") },
        row(.badRequestPayload, "a start") {
            $0.with(body: #"{"aps":{"timestamp":1,"event":"start"}}"#)
        },
        row(.payloadTooLarge, "5,121 bytes") { $0.with(body: paddedBody(byteCount: 5_121)) },
    ]

    @Test func `each fault of a broadcast has its reason`() async throws {
        let simulator = try Self.startSimulator()
        let token = simulator.makeProviderToken()
        let manager = simulator.client(channels: true)
        let channelWithoutStorage = try #require(
            await manager.send(.create(token)).headers["apns-channel-id"])
        for row in Self.broadcasts {
            let answer = await simulator.client().send(
                row.spoil(.broadcast(token, channel: channelWithoutStorage), simulator))
            #expect(answer.reason == row.reason.rawValue, "\(row.testDescription): \(answer)")
            #expect(answer.status == row.reason.status, "\(row.testDescription): \(answer)")
        }
    }

    @Test func `a broadcast of the largest body, and one of a channel that stores, are accepted`()
        async throws
    {
        let simulator = try Self.startSimulator()
        let token = simulator.makeProviderToken()
        let manager = simulator.client(channels: true)
        let channelWithoutStorage = try #require(
            await manager.send(.create(token)).headers["apns-channel-id"])
        let storingChannel = try #require(
            await manager.send(.create(token, policy: "1")).headers["apns-channel-id"])
        let client = simulator.client()
        for request in [
            TestRequest.broadcast(token, channel: channelWithoutStorage).with(
                body: Self.paddedBody(byteCount: 5_120)),
            TestRequest.broadcast(token, channel: storingChannel).setting("apns-expiration", "1763632800"),
            TestRequest.broadcast(token, channel: storingChannel).setting("apns-push-type", "LiveActivity"),
        ] {
            let answer = await client.send(request)
            #expect(answer.status == 200, "\(answer)")
            #expect(answer.headers["apns-request-id"] == TestRequest.id)
            #expect(answer.headers["apns-unique-id"]?.utf8.count == 36)
        }
    }

    static let channelCalls: [Row] = [
        row(.badPath, "a push's path") { $0.at("/3/device/aa") },
        row(.methodNotAllowed, "PUT") { $0.with(method: "PUT") },
        row(.payloadEmpty, "no body") { $0.with(body: "") },
        row(.badRequestPayload, "no JSON") { $0.with(body: "hello") },
        row(.missingPushType, "none") { $0.with(body: #"{"message-storage-policy":1}"#) },
        row(.invalidPushType, "another") {
            $0.with(body: #"{"message-storage-policy":1,"push-type":"alert"}"#)
        },
        row(.missingChannelQueueSize, "no policy") {
            $0.with(body: #"{"push-type":"LiveActivity"}"#)
        },
        row(.missingChannelQueueSize, "an unknown policy") {
            $0.with(body: #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#)
        },
        row(.topicDisallowed, "the suffix in the bundle id") {
            $0.at("/1/apps/\(topic)/channels")
        },
        row(.featureNotEnabled, "an app without the capability") {
            $0.at("/1/apps/com.example.quiet/channels")
        },
        row(.badMessageID, "no UUID") { $0.setting("apns-request-id", "1") },
        row(.badRequestParameters, "two request ids") {
            $0.adding("apns-request-id", TestRequest.id)
        },
        row(.missingChannelID, "reading none") { $0.with(method: "GET").with(body: "") },
        row(.channelNotRegistered, "deleting nobody's") {
            $0.with(method: "DELETE").with(body: "").adding("apns-channel-id", "AAAA")
        },
        row(.badChannelID, "no base64") {
            $0.with(method: "GET").with(body: "").adding("apns-channel-id", "?")
        },
        bearer(.missingProviderToken, "none") { _ in nil },
        bearer(.invalidProviderToken, "another key") { $0.makeProviderToken(key: strangeKey) },
        bearer(.topicMismatch, "a key of another app") {
            $0.makeProviderToken(keyID: otherAppKeyID, key: otherAppKey)
        },
    ]

    @Test func `each fault of channel management has its reason`() async throws {
        let simulator = try Self.startSimulator()
        let token = simulator.makeProviderToken()
        for row in Self.channelCalls {
            let answer = await simulator.client(channels: true).send(row.spoil(.create(token), simulator))
            #expect(answer.reason == row.reason.rawValue, "\(row.testDescription): \(answer)")
            #expect(answer.status == row.reason.status, "\(row.testDescription): \(answer)")
        }
    }

    @Test func `an app has a limit of channels`() async throws {
        let simulator = try Self.startSimulator()
        let token = simulator.makeProviderToken()
        let client = simulator.client(channels: true)
        // `startSimulator` sets the limit.
        for _ in 0..<2 { #expect(await client.send(.create(token)).status == 201) }
        let third = await client.send(.create(token))
        #expect(third.status == 400 && third.reason == "CannotCreateChannelConfig")
    }
}
