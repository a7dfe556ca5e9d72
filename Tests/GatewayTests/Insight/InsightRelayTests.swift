import Foundation
import Insight
import InstallationRecords
import Kafka
import Lifecycle
import ProcessTesting
import RecordFormat
import StageSupport
import Telemetry
import Testing
import Topics

@testable import Gateway

/// The relay of queries from the gateway to the insight stage, which is running or not. The events are three taps of
/// the app `shop` and one of `bank`.
struct InsightRelayTests {
    /// The time of the first tap, in milliseconds.
    private static let firstTapAt = WallTime.now().milliseconds - 60_000

    /// Starts the insight stage beside the gateway, in this process. The directory has the stage's files and must live as
    /// long as the stage.
    private static func startInsight(beside bench: GatewayBench) async throws -> (
        InsightService, TemporaryDirectory
    ) {
        let directory = try TemporaryDirectory()
        let environment = StageEnvironment(
            cluster: Cluster(settings: bench.settings), layout: bench.layout,
            slot: try ProcessSlot.acquire(under: directory.path),
            sealingKeys: nil, catalog: { nil })
        let service = InsightService(InsightSettings(), in: environment)
        try await service.start(ServiceContext(log: .silent, metrics: Metrics()) { _ in })
        return (service, directory)
    }

    /// Writes three taps of ann, with an id that a spreadsheet would execute as a formula, and one tap in
    /// another app.
    private static func writeTaps(to bench: GatewayBench) async throws {
        let (settings, layout) = (bench.settings, bench.layout)
        try await onThread {
            let producer = try Producer(settings: settings, name: "taps", log: .silent, metrics: Metrics())
            let topic = try producer.topic(named: layout.name(of: .events))
            var deliveries: [Delivery] = []
            for (app, user, milliseconds) in [
                ("shop", "=ann,1", 0), ("shop", "=ann,1", 1), ("shop", "=ann,1", 2), ("bank", "bob", 3),
            ] {
                let tap = Event(
                    .tap, app: app, installation: "phone", user: user, group: "match",
                    eventTime: firstTapAt + Int64(milliseconds),
                    receivedAt: firstTapAt + Int64(milliseconds))
                let (key, value) = (tap.key, tap.encoded())
                #expect(producer.send(to: topic, key: key.span, value: value.span, tag: 1) == .queued)
                _ = producer.flush(withinMilliseconds: 30_000, into: &deliveries)
            }
            #expect(!deliveries.isEmpty && deliveries.allSatisfy(\.isStored))
        }
    }

    @Test func `answers and files are relayed to the asking app and to a permitted role`() async throws {
        let bench = try await GatewayBench.onTestCluster(topics: TopicName.allCases)
        try await bench.startAndWait()
        func get(_ path: String, key: String = "shop/read") async throws -> HTTPAnswer {
            try await bench.call("GET", path, key: key)
        }
        let answerWithoutInsight = try await get("/v1/events")
        #expect(
            answerWithoutInsight.status == 503 && answerWithoutInsight.code == "insight_away",
            "\(answerWithoutInsight)")

        try await Self.writeTaps(to: bench)
        let (service, _directory) = try await Self.startInsight(beside: bench)
        try await eventually("insight has read the events") {
            let counts = try await get("/v1/events/counts")
            let foreign = try await get("/v1/events/counts", key: "bank/read")
            return counts.status == 200 && counts.body.contains(#""totals":{"tap":3}"#)
                && foreign.body.contains(#""totals":{"tap":1}"#)
        }
        try await Self.expectEventsAsFiles(get: { try await get($0) })
        try await Self.expectForeignNamesAreUnknown { try await get($0, key: $1) }

        try await Self.expectBadQueriesAreRefused { try await get($0) }
        #expect(try await get("/v1/events", key: "shop/report").status == 403)
        try await Self.expectSeriesAndFailures { try await get($0) }
        try await Self.expectFleetWithoutOtherApps { try await get($0, key: $1) }
        #expect(try await get("/v1/audit?of=sends&by=nobody&action=send.start&subject=s").body.hasPrefix("{"))
        await service.stop(by: .now().advanced(byMilliseconds: 10_000))
        try await eventually("the gateway says that insight is away") {
            try await get("/v1/groups").code == "insight_away"
        }
        await bench.stop()
        _ = _directory
    }

    private static func expectBadQueriesAreRefused(get: (String) async throws -> HTTPAnswer) async throws {
        let longRange = try await get("/v1/events?from=0&to=\(firstTapAt)")
        #expect(
            longRange.status == 422 && longRange.code == "range_too_long" && longRange.field == "from",
            "\(longRange)")
        let counts = try await get("/v1/events/counts?from=0&to=\(firstTapAt)")
        #expect(counts.code == "range_too_long", "\(counts)")
        #expect(try await get("/v1/audit?from=0").code == "range_too_long")
        #expect(try await get("/v1/sends?from=0").code == "range_too_long")
        #expect(try await get("/v1/events?from=9&to=8").field == "from")
        #expect(try await get("/v1/events?form=csv").code == "unknown_field")
        #expect(try await get("/v1/events?limit=5001").field == "limit")
        #expect(try await get("/v1/events?cursor=x").field == "cursor")
        #expect(try await get("/v1/audit?of=else").field == "of")
    }

    /// Checks that a key of one app sees the lanes of the fleet, but nothing of other apps.
    private static func expectFleetWithoutOtherApps(
        get: (_ path: String, _ key: String) async throws -> HTTPAnswer
    ) async throws {
        let fleet = try await get("/v1/fleet", "shop/admin")
        let fleetOfApp = try await get("/v1/fleet", "shop/read")
        #expect(fleet.status == 200 && fleet.body.contains(#""members":["#), "\(fleet)")
        #expect(
            fleetOfApp.status == 200 && fleetOfApp.body.hasPrefix(#"{"openBreakers":[],"lanes":{"#),
            "\(fleetOfApp)")
        for name in ["lag", "members", "processes", "differences"] {
            #expect(!fleetOfApp.body.contains("\"\(name)\""))
        }
    }

    /// Checks the calls about figures over time and about failed pushes, of an app without sends.
    private static func expectSeriesAndFailures(get: (String) async throws -> HTTPAnswer) async throws {
        let series = try await get("/v1/series?range=24h")
        #expect(
            series.status == 200 && series.body.hasPrefix(#"{"range":"24h","from":"#)
                && series.body.contains(#""failuresOfLastHour":{}"#), "\(series)")
        #expect(try await get("/v1/series?range=1h").field == "range")
        #expect(try await get("/v1/series").body.contains(#""periodMilliseconds":10000"#))
        let failures = try await get("/v1/sends/r-1/failures?reason=BadTopic")
        #expect(failures.status == 200 && failures.body.hasPrefix(#"{"items":[]"#), "\(failures)")
        let file = try await get("/v1/sends/r-1/failures?format=csv")
        #expect(file.header("Content-Disposition") == #"attachment; filename="failures.csv""#, "\(file.head)")
        #expect(file.body.hasPrefix("at,sendId,groupId,userId,") && file.header("Next-Cursor") == nil)
        #expect(try await get("/v1/sends/r-1/failures?format=jsonl").field == "format")
        #expect(try await get("/v1/sends?event=begin").field == "event")
        #expect(
            try await get("/v1/sends?text=match&result=failed&author=key").body.hasPrefix(#"{"items":[]"#))
    }

    /// Checks the pages of the events as CSV, and the events as JSON lines.
    private static func expectEventsAsFiles(get: (String) async throws -> HTTPAnswer) async throws {
        var first = try await get("/v1/events?format=csv&limit=2")
        try await eventually("every lane answers") {
            if first.status != 200 { first = try await get("/v1/events?format=csv&limit=2") }
            return first.status == 200
        }
        #expect(first.header("Content-Type") == "text/csv; charset=utf-8", "\(first.head)")
        #expect(first.header("Content-Disposition") == #"attachment; filename="events.csv""#)
        let lines = first.body.components(separatedBy: "\r\n")
        try #require(lines.count == 4, "\(lines)")
        #expect(lines[0].hasPrefix("at,receivedAt,code,") && lines[3].isEmpty, "\(lines)")
        #expect(
            lines[1].contains(#","'=ann,1","#),
            "the id is not a formula, and its comma is in quotes: \(lines[1])")
        let next = try #require(first.header("Next-Cursor"))
        let second = try await get("/v1/events?format=csv&limit=2&cursor=\(next)")
        #expect(second.body.components(separatedBy: "\r\n").count == 3 && second.header("Next-Cursor") == nil)
        let jsonLines = try await get("/v1/events?format=jsonl")
        #expect(jsonLines.header("Content-Type") == "application/x-ndjson", "\(jsonLines.head)")
        let events = try jsonLines.body.split(separator: "\n").map {
            try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(events.count == 3 && events.allSatisfy { $0["userId"] as? String == "=ann,1" })
    }

    /// Checks that names of another app get the same answers as unknown names.
    private static func expectForeignNamesAreUnknown(
        get: (_ path: String, _ key: String) async throws -> HTTPAnswer
    ) async throws {
        func withoutTime(_ answer: HTTPAnswer) -> String {
            "\(answer.status) \(answer.body.replacing(/"asOf":[0-9]+/, with: ""))"
        }
        let own = try await get("/v1/users/bob", "bank/read")
        #expect(own.status == 200, "\(own)")
        for (foreignPath, unknownPath) in [
            ("/v1/users/bob", "/v1/users/nobody"), ("/v1/installations/phone", "/v1/installations/none"),
            ("/v1/groups/match", "/v1/groups/none"),
            ("/v1/groups/match/timeline", "/v1/groups/none/timeline"),
            ("/v1/sends/send-of-bank", "/v1/sends/none"),
        ] {
            let answer = try await get(foreignPath, "shop/read")
            let unknown = try await get(unknownPath, "shop/read")
            #expect(withoutTime(answer) == withoutTime(unknown), "\(foreignPath)")
        }
        let events = try await get("/v1/events?user=bob", "shop/read")
        #expect(events.status == 200 && events.body.hasPrefix(#"{"items":[]"#), "\(events)")
    }
}
