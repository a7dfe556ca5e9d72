import CatalogRecords
import Foundation
import Identifiers
import InstallationRecords
import Lifecycle
import Payloads
import ProcessTesting
import Telemetry
import Testing

@testable import APNsSimulator

/// Hours in the life of phones, which pass at once when the test of a backend advances the clock over the control API.
struct PhoneClockTests {
    /// Runs a test with a simulator of three phones that give an update token after some milliseconds.
    private func withPhones(
        _ change: (inout SimulatorServiceSettings) -> Void = { _ in },
        run test: (ControlledSimulator) async throws -> Void
    ) async throws {
        try await withSimulator(
            { settings in
                let app = PhoneApp(
                    id: "shop", bundleID: RunningSimulator.app, types: [ActivityType(name: "Match")])
                settings.phones = Population(of: app, phones: 3)
                settings.phones?.systems = [(OSVersion(26, 1), 1)]
                settings.phones?.frequentUpdatesShare = 0
                settings.phoneSettings.updateTokenMilliseconds = 10...20
                change(&settings)
            }, test)
    }

    /// Starts an activity and waits for its update token.
    private func startActivity(
        on simulator: ControlledSimulator, with client: PushClient
    ) async throws -> PushToken {
        let startToken = try #require(try await simulator.tokens().start.first?.token)
        let now = try await simulator.clock().now / 1_000
        let answer = await client.send(simulator.push(to: startToken, .start, at: now))
        #expect(answer.status == 200)
        try await eventually("the update token") { try await !simulator.tokens().update.isEmpty }
        let token = try #require(try await simulator.tokens().update.first?.token)
        return try #require(PushToken(hex: token))
    }

    @Test func `after eight hours the system has ended the activity, and after four more it is gone`()
        async throws
    {
        try await withPhones { simulator in
            let client = simulator.client()
            let token = try await startActivity(on: simulator, with: client)
            let hex = String(decoding: token.hex, as: UTF8.self)
            let startedAt = try await simulator.clock().now
            #expect(try await simulator.phone().activities.map(\.state) == ["active"])
            #expect(try await simulator.advance(bySeconds: 7 * 3_600).hasPrefix("200 "))
            #expect(try await simulator.phone().activities.map(\.state) == ["active"])
            #expect(try await simulator.advance(bySeconds: 3_600).contains(#""aheadSeconds":28800"#))
            #expect(try await simulator.phone().activities.map(\.state) == ["ended"])
            let updateAfterEnd = await client.send(
                simulator.push(to: hex, .update, at: startedAt / 1_000 + 28_800))
            #expect(
                updateAfterEnd.status == 200,
                "the provider token has not aged, and APNs does not know")
            #expect(try await simulator.phone().received.first?.effect == "alreadyEnded")
            #expect(try await simulator.advance(bySeconds: 4 * 3_600).hasPrefix("200 "))
            #expect(try await simulator.phone().activities.isEmpty)
            let updateAfterRemoval = await client.send(
                simulator.push(to: hex, .update, at: startedAt / 1_000 + 43_200))
            #expect(updateAfterRemoval.status == 410 && updateAfterRemoval.reason == "Unregistered")
            let unregisteredAt = try #require(updateAfterRemoval.timestamp)
            let expected = Int64(startedAt) + 12 * 3_600_000
            // A tick finds the end. It is counted from the start of the activity, some moments before `startedAt`
            // was read.
            #expect(
                (expected - 60_000...expected + 60_000).contains(unregisteredAt),
                "\(unregisteredAt - expected) ms later")
            #expect(try await simulator.clock().now >= startedAt + 12 * 3_600_000)
        }
    }

    @Test func `stale dates, dismissals, returns and tokens become due when the clock is advanced`()
        async throws
    {
        try await withPhones { simulator in
            let client = simulator.client()
            let token = try await startActivity(on: simulator, with: client)
            let hex = String(decoding: token.hex, as: UTF8.self)
            let now = try await simulator.clock().now / 1_000
            let updateWithStaleDate = simulator.push(
                to: hex, .update, at: now + 1, otherFields: #""stale-date":\#(now + 1_800),"#)
            #expect(await client.send(updateWithStaleDate).status == 200)
            #expect(try await simulator.advance(bySeconds: 1_700).hasPrefix("200 "))
            #expect(try await simulator.phone().activities.map(\.state) == ["active"])
            #expect(try await simulator.advance(bySeconds: 200).hasPrefix("200 "))
            #expect(try await simulator.phone().activities.map(\.state) == ["stale"])
            let end = simulator.push(
                to: hex, .end, at: now + 2_000, otherFields: #""dismissal-date":\#(now + 5_500),"#)
            #expect(await client.send(end).status == 200)
            #expect(try await simulator.phone().activities.map(\.state) == ["ended"])
            #expect(try await simulator.advance(bySeconds: 3_700).hasPrefix("200 "))
            #expect(try await simulator.phone().activities.isEmpty)

            try await simulator.control(
                "POST", "/v1/phones/phone-0", #"{"does":"away","milliseconds":3600000}"#)
            #expect(try await simulator.phone().isAway)
            #expect(try await simulator.advance(bySeconds: 3_600).hasPrefix("200 "))
            #expect(try await !simulator.phone().isAway)
        }
    }

    @Test func `a budget is used up, and an hour later it is full again`() async throws {
        let budgets = { (settings: inout SimulatorServiceSettings) in
            settings.phoneSettings.startBudget = .init(pushes: 2, milliseconds: 3_600_000)
            settings.phoneSettings.updateBudget = .init(pushes: 3, milliseconds: 3_600_000)
        }
        try await withPhones(budgets) { simulator in
            let client = simulator.client()
            let token = String(
                decoding: try await startActivity(on: simulator, with: client).hex, as: UTF8.self)
            for round in 0..<2 {
                let now = try await simulator.clock().now / 1_000
                for number in 1...4 {
                    let push = simulator.push(to: token, .update, at: now + number)
                    #expect(await client.send(push).status == 200)
                    let effect = try await simulator.phone().received.first?.effect
                    #expect(effect == (number < 4 ? "shown" : "updateBudgetSpent"), "round \(round)")
                }
                #expect(try await simulator.advance(bySeconds: 3_600).hasPrefix("200 "))
            }
        }
    }

    @Test func `a token has the time of its registration, and a 410 the time of its death`() async throws {
        try await withPhones { simulator in
            let client = simulator.client()
            let first = try #require(try await simulator.tokens().start.first)
            // The phone registered when the simulator started, which is some minutes ago at most.
            let now = try await simulator.clock().now
            #expect(first.registeredAt <= now && first.registeredAt > now - 600_000)
            #expect(try await simulator.advance(bySeconds: 600).hasPrefix("200 "))
            try await simulator.control("POST", "/v1/phones/phone-0", #"{"does":"uninstall"}"#)
            let uninstalledAt = try await simulator.clock().now
            #expect(try await simulator.advance(bySeconds: 600).hasPrefix("200 "))
            let push = simulator.push(to: first.token, .start, at: uninstalledAt / 1_000)
            var answer = await client.send(push)
            #expect(answer.status == 410 && answer.reason == "Unregistered")
            let unregisteredAt = try #require(answer.timestamp)
            #expect(
                unregisteredAt > Int64(first.registeredAt) + 590_000 && unregisteredAt <= Int64(uninstalledAt)
            )
            try await simulator.control("POST", "/v1/phones/phone-0", #"{"does":"install"}"#)
            let second = try #require(try await simulator.tokens().start.first)
            #expect(second.token != first.token && second.registeredAt >= uninstalledAt + 600_000)
            answer = await client.send(push)
            #expect(answer.status == 410 && answer.reason == "Unregistered")
            #expect(answer.timestamp == unregisteredAt)
            let started = await client.send(
                simulator.push(to: second.token, .start, at: uninstalledAt / 1_000))
            #expect(started.status == 200)
            #expect(try await simulator.phone().activities.count == 1)

            #expect(try await simulator.advance(bySeconds: 60).hasPrefix("200 "))
            try await simulator.control("POST", "/v1/phones/phone-0", #"{"does":"update"}"#)
            try await simulator.control("POST", "/v1/phones/phone-0", #"{"does":"open"}"#)
            let third = try #require(try await simulator.tokens().start.first)
            answer = await client.send(simulator.push(to: second.token, .start, at: uninstalledAt / 1_000))
            #expect(answer.status == 410 && answer.reason == "ExpiredToken")
            #expect(answer.timestamp == Int64(third.registeredAt))
        }
    }

    @Test func `the clock only goes forward, and its offset is limited`() async throws {
        try await withSimulator { simulator in
            for wrong in [
                "{}", #"{"advanceSeconds":0}"#, #"{"advanceSeconds":-5}"#, #"{"advanceSeconds":1.5}"#,
                #"{"advanceSeconds":31536001}"#, #"{"advance":5}"#,
            ] {
                let answer = try await simulator.control("POST", "/v1/clock", wrong)
                #expect(answer.hasPrefix("400 ") && answer.contains("advance"), "\(wrong): \(answer)")
            }
            for _ in 1...10 { #expect(try await simulator.advance(bySeconds: 31_536_000).hasPrefix("200 ")) }
            #expect(try await simulator.advance(bySeconds: 1).hasPrefix("409 "))
            #expect(try await simulator.clock().aheadSeconds == 315_360_000)
            #expect(await simulator.client().send(simulator.push(1)).status == 200)
            let entry = try #require(try await simulator.entries().first)
            #expect(Int64(entry.receivedAt) > WallTime.now().milliseconds + 315_000_000_000)
        }
    }

    @Test func `reports carry the time of their event, and reach an endpoint that first fails`() async throws
    {
        let loop = try EventLoop(name: "endpoint")
        try loop.start()
        defer { loop.stop() }
        let server = try ReportServer([.answer(503), .close, .answer(500)], on: loop)
        defer { server.stop() }
        let target = ReportPoster.Target(
            host: "127.0.0.1", port: server.port, path: "/hooks/tokens?from=phones", key: "secret")
        let reporting = { (settings: inout SimulatorServiceSettings) in
            settings.reportSink = { loop, context in ReportPoster(to: target, on: loop, log: context.log) }
        }
        try await withPhones(reporting) { simulator in
            let token = try await startActivity(on: simulator, with: simulator.client())
            let hex = String(decoding: token.hex, as: UTF8.self)
            try await eventually("the report of the update token") {
                try server.reports().contains { $0.token == hex && $0.kind == .updateToken }
            }
            #expect(server.heads.allSatisfy { $0.hasPrefix("POST /hooks/tokens?from=phones HTTP/1.1") })
            let startedAt = try #require(try await simulator.phone().activities.first?.startedAt)
            #expect(try await simulator.advance(bySeconds: 86_400).hasPrefix("200 "))
            try await eventually("the end of the activity") {
                try server.reports().contains { $0.state == .dismissed }
            }
            for (state, hours) in [(Report.ActivityState.ended, 8), (.dismissed, 12)] {
                let report = try #require(try server.reports().first { $0.state == state })
                let time = try #require(report.eventTime)
                #expect(time == startedAt + Int64(hours) * 3_600_000, "\(state)")
            }
            try await eventually("the server to take them all") {
                let summary = try await simulator.summary()
                return summary.contains(/"waiting":0,"sent":([0-9]+),"lost":0,"taken":\1,/)
            }
            let summary = try await simulator.summary()
            #expect(
                summary.contains(#""refused":0,"retries":3"#),
                "reports that were not accepted were posted again: \(summary)")
            #expect(
                summary.contains(#""trouble":"the server answered reports with status 500""#), "\(summary)")
        }
    }
}

// MARK: Answers of the control API

private struct ShownClock: Decodable {
    var now: Int
    var aheadSeconds: Int
}

private struct ShownTokens: Decodable {
    struct Token: Decodable {
        var token: String
        var registeredAt: Int
    }
    var start: [Token]
    var update: [Token]
}

private struct ShownPhone: Decodable {
    struct Activity: Decodable {
        var state: String
        var startedAt: Int64
    }
    struct Reception: Decodable { var effect: String }
    var isAway: Bool
    var activities: [Activity]
    var received: [Reception]
}

extension ControlledSimulator {
    private func read<Value: Decodable>(_ path: String) async throws -> Value {
        let answer = try await control("GET", path)
        return try JSONDecoder().decode(Value.self, from: Data(answer.dropFirst("200 ".count).utf8))
    }

    fileprivate func clock() async throws -> ShownClock { try await read("/v1/clock") }
    fileprivate func tokens() async throws -> ShownTokens { try await read("/v1/phones/phone-0/tokens") }
    fileprivate func phone() async throws -> ShownPhone { try await read("/v1/phones/phone-0") }

    fileprivate func advance(bySeconds seconds: Int) async throws -> String {
        try await control("POST", "/v1/clock", #"{"advanceSeconds":\#(seconds)}"#)
    }

    fileprivate func push(
        to token: String, _ event: PushEvent, at seconds: Int, otherFields: String = ""
    ) -> TestRequest {
        let attributes =
            event == .start
            ? #""attributes-type":"Match","attributes":{},"alert":{"title":"a","body":"b"},"# : ""
        let body =
            #"{"aps":{"timestamp":\#(seconds),"event":"\#(event.rawValue)",\#(attributes)\#(otherFields)"content-state":{}}}"#
        return push().at("/3/device/\(token)").with(body: body).setting("apns-expiration", nil)
    }
}

extension ReportServer {
    fileprivate func reports() throws -> [Report] { try bodies.flatMap { try ReportServer.reports(in: $0) } }
}
