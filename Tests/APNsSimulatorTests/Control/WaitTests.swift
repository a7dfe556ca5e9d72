import CatalogRecords
import Foundation
import Identifiers
import ProcessTesting
import Telemetry
import Testing

@testable import APNsSimulator

/// Tools for tests of a backend: the list of phones, waiting for a screen, and a reset between two tests.
struct WaitTests {
    private func withPhones(_ body: (ControlledSimulator) async throws -> Void) async throws {
        try await withSimulator(
            { settings in
                let app = PhoneApp(
                    id: "shop", bundleID: RunningSimulator.app, types: [ActivityType(name: "Match")])
                settings.phones = Population(of: app, phones: 4)
                settings.phones?.systems = [(OSVersion(26, 1), 1)]
            }, body)
    }

    private func token(_ kind: String, of phone: Int, in simulator: ControlledSimulator) async throws
        -> String
    {
        struct Tokens: Decodable {
            struct Token: Decodable { var token: String }
            var start: [Token]
            var update: [Token]
        }
        let answer = try await simulator.control("GET", "/v1/phones/phone-\(phone)/tokens")
        let tokens = try JSONDecoder().decode(Tokens.self, from: Data(answer.dropFirst("200 ".count).utf8))
        return try #require((kind == "start" ? tokens.start : tokens.update).first?.token)
    }

    private func startActivity(on phone: Int, score: Int, in simulator: ControlledSimulator) async throws {
        let body = """
            {"aps":{"timestamp":\(WallTime.now().seconds),"event":"start","attributes-type":"Match",
             "attributes":{"netmeraGroupId":"m/1"},"alert":{"title":"a","body":"b"},
             "content-state":{"score":{"home":\(score)},"min":[1,2]}}}
            """
        let path = "/3/device/" + (try await token("start", of: phone, in: simulator))
        let push = simulator.push().at(path).with(body: body)
        #expect(await simulator.client().send(push).status == 200)
    }

    @Test func `a wait ends when a phone shows the content, or with an error at its timeout`() async throws {
        try await withPhones { simulator in
            let condition = #"{"phone":"phone-1","pointer":"/score/home","equals":2.0,"milliseconds":60000}"#
            async let waited = simulator.control("POST", "/v1/wait", condition)
            try await startActivity(on: 1, score: 2, in: simulator)
            let answer = try await waited
            #expect(answer.hasPrefix(#"200 {"showing":1,"of":1,"waitedMilliseconds":"#), "\(answer)")
            for (more, isMet) in [
                (#""pointer":"/score/home","equals":3"#, false), (#""pointer":"/nowhere","equals":2"#, false),
                (#""equals":{"min":[1,2],"score":{"home":2}},"state":"active""#, true), ("", true),
                (#""state":"ended""#, false), (#""group":"m/1""#, true), (#""group":"m/2""#, false),
                (#""shows":false"#, false), (#""shows":false,"equals":1"#, true),
            ] {
                let body = #"{"phone":"phone-1","milliseconds":0\#(more.isEmpty ? "" : ",")\#(more)}"#
                let answer = try await simulator.control("POST", "/v1/wait", body)
                #expect(answer.hasPrefix(isMet ? "200 " : "408 "), "\(body): \(answer)")
            }
            let none = #"{"phone":"phone-0","milliseconds":0,"shows":false}"#
            #expect(try await simulator.control("POST", "/v1/wait", none).hasPrefix("200 "))
        }
    }

    @Test func `a wait for a share of a group counts the newest activity of each phone`() async throws {
        try await withPhones { simulator in
            for phone in 0..<3 {
                try await startActivity(on: phone, score: phone == 0 ? 1 : 2, in: simulator)
            }
            func answer(_ more: String) async throws -> String {
                try await simulator.control(
                    "POST", "/v1/wait",
                    #"{"group":"m/1","pointer":"/score/home","equals":2,"milliseconds":0\#(more)}"#)
            }
            #expect(try await answer("").contains("2 of 3 phones show it"))
            #expect(try await answer(#","share":0.66"#).hasPrefix(#"200 {"showing":2,"of":3,"#))
            #expect(try await answer(#","share":0.66,"phones":3"#).hasPrefix("408 "))
            #expect(try await answer(#","share":0.67"#).hasPrefix("408 "))
            // An older activity of the group on the same screen does not count.
            try await startActivity(on: 0, score: 2, in: simulator)
            #expect(try await answer("").hasPrefix(#"200 {"showing":3,"of":3,"#))
            try await startActivity(on: 1, score: 1, in: simulator)
            #expect(try await answer("").contains("2 of 3 phones show it"))
            #expect(try await answer(#","shows":false"#).hasPrefix("408 "))
        }
    }

    @Test(arguments: [
        #"{}"#, #"{"phone":"phone-0","share":1}"#, #"{"group":"a","share":0}"#, #"{"group":"a","share":1.1}"#,
        #"{"group":"a","pointer":"score"}"#, #"{"group":"a","state":"gone"}"#,
        #"{"group":"a","milliseconds":600001}"#, #"{"group":"a","equal":1}"#,
        #"{"group":"a","shows":false,"phones":2}"#,
    ])
    func `an invalid condition is refused`(body: String) async throws {
        try await withPhones { simulator in
            let answer = try await simulator.control("POST", "/v1/wait", body)
            #expect(answer.hasPrefix("400 "), "\(answer)")
        }
    }

    @Test func `a waiting caller does not delay the stop`() async throws {
        try await withPhones { simulator in
            async let waited = simulator.control(
                "POST", "/v1/wait", #"{"phone":"phone-0","milliseconds":600000}"#)
            try await eventually("the wait") {
                try await simulator.control("GET", "/metrics").contains(
                    "flotilla_apns_simulator_waiting 1")
            }
            await simulator.stop()
            #expect(try await waited.hasPrefix("503 "))
        }
    }

    @Test func `phones are listed in pages`() async throws {
        try await withPhones { simulator in
            try await startActivity(on: 2, score: 1, in: simulator)
            let first = try await simulator.control("GET", "/v1/phones?limit=3")
            #expect(first.contains(#"{"installation":"phone-2","bundleId":"\#(RunningSimulator.app)","#))
            #expect(first.contains(#""canBeReached":true,"activities":1}"#), "\(first)")
            #expect(first.hasSuffix(#""next":3,"count":4}"#), "\(first)")
            let last = try await simulator.control("GET", "/v1/phones?limit=3&from=3")
            #expect(last.contains("phone-3") && last.hasSuffix(#"],"count":4}"#), "\(last)")
        }
    }

    @Test func `a reset restores the initial state, except for the clock`() async throws {
        try await withPhones { simulator in
            let before = try await simulator.control("GET", "/v1/phones/phone-1/tokens")
            try await startActivity(on: 1, score: 2, in: simulator)
            let path = "/v1/tokens/" + String(decoding: ScriptSamples.token(1).hex, as: UTF8.self)
            try await simulator.control("POST", path, #"{"standing":"gone"}"#)
            try await simulator.control("POST", "/v1/script", #"{"answer":{"reason":"TooManyRequests"}}"#)
            try await simulator.control("POST", "/v1/clock", #"{"advanceSeconds":60}"#)
            #expect(try await simulator.control("POST", "/v1/reset").hasPrefix("200 "))

            let phone = try await simulator.control("GET", "/v1/phones/phone-1")
            #expect(phone.contains(#""activities":[],"received":[]"#), "\(phone)")
            let after = try await simulator.control("GET", "/v1/phones/phone-1/tokens")
            let token = try #require(before.firstMatch(of: /"token":"[0-9a-f]+"/)?.0)
            #expect(after.contains(token), "the same seed gives the same phones")
            #expect(try await simulator.control("GET", path).contains("standing") == false)
            #expect(try await simulator.control("GET", "/v1/script").contains("TooMany") == false)
            #expect(try await simulator.summary().contains(#""requests":0"#))
            let journal = try await simulator.control("GET", "/v1/journal")
            #expect(journal.contains(#""entries":[],"after":1,"newest":1,"missed":1"#), "\(journal)")
            #expect(try await simulator.control("GET", "/v1/clock").contains(#""aheadSeconds":60"#))
            try await startActivity(on: 1, score: 3, in: simulator)
            #expect(try await simulator.summary().contains(#""requests":1,"#))
            #expect(try await simulator.entries().map(\.number) == [2])
        }
    }
}
