import Cryptography
import Foundation
import JSON
import ProcessTesting
import Testing

@testable import APNsSimulator

/// Several apps, teams and keys, which cause refusals without a script.
struct PortalTests {
    private static let shop = "com.example.shop"
    private static let portal = """
        { "apps": [ { "bundleId": "com.example.shop" }, { "bundleId": "com.example.news", "mayBroadcast": false },
                    { "bundleId": "\(RunningSimulator.app)" } ],
          "keys": [ { "keyId": "SANDBOX001", "teamId": "TEAM000001", "environments": ["sandbox"] },
                    { "keyId": "NEWSONLY01", "teamId": "TEAM000002", "apps": ["com.example.news"] } ],
          "phones": [ { "bundleId": "com.example.shop", "count": 4, "systems": ["26.1", "17.1"],
                        "environments": ["production", "production", "sandbox"] },
                      { "bundleId": "com.example.news", "count": 1, "types": [ { "name": "News" } ] } ] }
        """

    private func withPortal(_ body: (ControlledSimulator) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.writeFile(named: "portal.json", content: Self.portal)
        try await withSimulator({ $0.portalFile = file }, body)
    }

    private func bearer(_ query: String, of simulator: ControlledSimulator) async throws -> String {
        let answer = try await simulator.control("GET", "/v1/provider-token" + query)
        #expect(answer.hasPrefix("200 "), "\(answer)")
        return String(answer.dropFirst("200 ".count).dropLast())
    }

    private func startToken(of phone: String, in simulator: ControlledSimulator) async throws -> String {
        let answer = try await simulator.control("GET", "/v1/phones/\(phone)/tokens")
        return String(try #require(answer.firstMatch(of: /"token":"([0-9a-f]+)"/)?.1))
    }

    private func push(
        _ bearer: String, to token: String, of app: String = shop
    ) -> TestRequest {
        TestRequest.push(bearer).at("/3/device/\(token)")
            .setting("apns-topic", app + ".push-type.liveactivity").setting("apns-id", nil)
    }

    @Test func `each refusal that concerns a key, an app or an environment can be caused`() async throws {
        try await withPortal { simulator in
            let defaultKey = try await bearer("", of: simulator)
            let sandbox = try await bearer("?keyId=SANDBOX001", of: simulator)
            let news = try await bearer("?keyId=NEWSONLY01", of: simulator)
            let old = try await bearer("?ageSeconds=3700", of: simulator)
            #expect(try await bearer("?keyId=NEWSONLY01", of: simulator) == news, "it is made once")
            let first = try await startToken(of: "phone-0", in: simulator)
            let inSandbox = try await startToken(of: "phone-2", in: simulator)
            let ofNews = try await startToken(of: "phone-4", in: simulator)
            for (reason, request) in [
                (nil, push(defaultKey, to: first)), (nil, push(news, to: ofNews, of: "com.example.news")),
                ("BadEnvironmentKeyInToken", push(sandbox, to: first)),
                ("TopicDisallowed", push(news, to: first)), ("ExpiredProviderToken", push(old, to: first)),
                ("BadDeviceToken", push(defaultKey, to: inSandbox)),
                ("DeviceTokenNotForTopic", push(defaultKey, to: ofNews)),
                ("BadTopic", push(defaultKey, to: first, of: "com.example.other")),
            ] as [(String?, TestRequest)] {
                let answer = await simulator.client().send(request)
                #expect(answer.reason == reason && answer.status == (reason == nil ? 200 : answer.status))
            }
            let client = simulator.client()
            #expect(await client.send(push(defaultKey, to: first)).status == 200)
            let unrelated = await client.send(push(news, to: ofNews, of: "com.example.news"))
            #expect(unrelated.reason == "UnrelatedKeyIdInToken")
            let tooSoon = try await bearer("?ageSeconds=60", of: simulator)
            #expect(await client.send(push(tooSoon, to: first)).reason == "TooManyProviderTokenUpdates")
            #expect(try await simulator.control("GET", "/v1/provider-token?keyId=X").hasPrefix("404 "))
        }
    }

    @Test func `phones get systems and environments in turn`() async throws {
        try await withPortal { simulator in
            let list = try await simulator.control("GET", "/v1/phones")
            let systems = list.matches(of: /"environment":"([a-z]+)","system":"([0-9.]+)"/)
                .map { "\($0.1) \($0.2)" }
            #expect(
                systems == [
                    "production 26.1", "production 17.1", "sandbox 26.1", "production 17.1",
                    "production 26.1",
                ])
            let defaultKey = try await bearer("", of: simulator)
            let old = try await startToken(of: "phone-1", in: simulator)
            #expect(
                await simulator.client().send(push(defaultKey, to: old)).reason == "BadDeviceToken",
                "an old system has no start token")
        }
    }

    @Test func `the keys of a portal survive the process, in the layout that senders expect`() async throws {
        let directory = try TemporaryDirectory()
        let first = try SimulatorCredentials.loadKey(
            id: "SANDBOX001", teamID: "TEAM000001", directory: directory.path)
        let reloaded = try SimulatorCredentials.loadKey(
            id: "SANDBOX001", teamID: "TEAM000001", directory: directory.path)
        #expect(first.pem == reloaded.pem)
        let file = try SigningKey(file: directory.path + "/TEAM000001/AuthKey_SANDBOX001.p8")
        #expect(file.pem == first.pem)
    }

    @Test(arguments: [
        (#"{"keys":[{"keyId":"../../etc/","teamId":"TEAM000001"}]}"#, "keys[0].keyId"),
        (#"{"keys":[{"keyId":"KEY0000001","teamId":"a"}]}"#, "keys[0].teamId"),
        (
            #"{"keys":[{"keyId":"KEY0000001","teamId":"TEAM000001"},{"keyId":"KEY0000001","teamId":"TEAM000002"}]}"#,
            "no repeated keyId"
        ),
        (#"{"apps":[{"bundleId":"a b"}]}"#, "apps[0].bundleId"),
        (#"{"apps":[{"bundleId":"a"},{"bundleId":"a","mayBroadcast":false}]}"#, "apps[1].bundleId"),
        (#"{"phone":[]}"#, "phone "),
        (#"{"phones":[{"bundleId":"a","count":0}]}"#, "phones[0].count"),
        (#"{"phones":[{"bundleId":"a","count":1,"systems":["old"]}]}"#, "phones[0].systems[0]"),
        (#"{"phones":[{"bundleId":"a","count":10000000},{"bundleId":"b","count":1}]}"#, "in total"),
    ])
    func `an error in a portal file is reported with its path`(text: String, complaint: String) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.writeFile(named: "portal.json", content: text)
        let error = try #require(throws: InputFileError.self) { try InputFile.readPortal(at: file) }
        #expect(error.description.contains(complaint), "\(error)")
    }
}
