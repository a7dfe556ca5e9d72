import Foundation
import Kafka
import RecordFormat
import Telemetry
import Testing
import Topics

@testable import Gateway

/// Dead letters over HTTP: an app sees only its own, and the checks are those of the command line.
struct DeadLettersServiceTests {
    /// A token in each dead letter, which no answer may contain.
    private static let secret = "c0ffee5ec12e7"

    /// Writes a dead letter of ingest: a report that cannot be read.
    private func writeDeadLetter(
        to bench: GatewayBench, app: String, code: String, atMilliseconds rejectedAt: Int64
    ) async throws {
        let (settings, layout) = (bench.settings, bench.layout)
        try await onThread {
            let producer = try Producer(settings: settings, name: "stages", log: .silent, metrics: Metrics())
            let letter = DeadLetter(
                stage: "ingest", code: code, reason: "in words", topic: layout.name(of: .reports),
                partition: 1,
                offset: 9, writtenAt: rejectedAt - 1_000, rejectedAt: rejectedAt)
            var headers = RecordHeaders(capacity: letter.headers.count)
            for (name, value) in letter.headers {
                headers.add(named: Array(name.rawValue.utf8).span, value: Array(value.utf8).span)
            }
            let result = producer.send(
                to: try producer.topic(named: layout.name(of: .deadLetters)), partition: 1,
                key: Array("\(app)/i:phone-1".utf8).span,
                value: Array(#"{"token":"\#(Self.secret)"}"#.utf8).span,
                headers: &headers, tag: 1)
            #expect(result == .queued)
            var deliveries: [Delivery] = []
            _ = producer.flush(withinMilliseconds: 30_000, into: &deliveries)
            #expect(deliveries.count == 1)
        }
    }

    /// Writes the dead letters 1/0 and 1/1 of the app `shop`, and 1/2 of `bank`.
    private func writeThreeLetters(to bench: GatewayBench) async throws {
        let now = WallTime.now().milliseconds
        try await writeDeadLetter(to: bench, app: "shop", code: "unreadable", atMilliseconds: now - 10)
        try await writeDeadLetter(to: bench, app: "shop", code: "unreadable", atMilliseconds: now)
        try await writeDeadLetter(to: bench, app: "bank", code: "unreadable", atMilliseconds: now)
    }

    private func get(
        _ path: String, key: String = "shop/read", from bench: GatewayBench
    ) async throws -> HTTPAnswer {
        try await bench.call("GET", "/v1/dead-letters" + path, key: key)
    }

    @Test func `dead letters are summed up, listed, and shown without tokens`() async throws {
        let bench = try await GatewayBench.onTestCluster(topics: TopicName.allCases)
        try await bench.startAndWait()
        try await writeThreeLetters(to: bench)
        func get(_ path: String) async throws -> HTTPAnswer { try await self.get(path, from: bench) }
        let sums = try await get("")
        #expect(sums.status == 200 && sums.body.contains(#""state":"open","letters":2,"jobs":2"#), "\(sums)")
        let list = try await get("/each?limit=1")
        #expect(list.body.contains(#""letter":"1/1""#) && !list.body.contains(#""letter":"1/0""#), "\(list)")
        #expect(list.body.contains(#""more":1"#) && !list.body.contains(#""app":"bank""#))
        let rest = try await get("/each?limit=1&cursor=\(list.member("next"))")
        #expect(rest.body.contains(#""letter":"1/0""#) && rest.body.contains(#""more":0"#), "\(rest)")
        #expect(!rest.body.contains(#""next""#), "the list ends")
        #expect(try await get("/each?cursor=x").field == "cursor")
        let limited = try await get("?limit=1")
        #expect(limited.status == 422 && limited.field == "limit", "sums have no limit: \(limited)")
        let letter = try await get("/1/0")
        #expect(letter.status == 200 && letter.body.contains(#""message":"in words""#), "\(letter)")
        #expect(!(sums.body + list.body + letter.body).contains(Self.secret))
        #expect(try await get("/1/2").status == 404, "another app's dead letter is not found")
        #expect(try await get("/1/7").code == "letter_unknown")
        #expect(try await get("/x/7").code == "letter_unknown")
        #expect(try await get("?since=yesterday").field == "since")
        #expect(try await get("?sicne=1").code == "unknown_field")
        await bench.stop()
    }

    @Test func `dead letters of the own app are redriven and discarded`() async throws {
        let bench = try await GatewayBench.onTestCluster(topics: TopicName.allCases)
        try await bench.startAndWait()
        try await writeThreeLetters(to: bench)
        func get(_ path: String, key: String = "shop/read") async throws -> HTTPAnswer {
            try await self.get(path, key: key, from: bench)
        }
        func post(_ action: String, body: String, key: String = "shop/admin") async throws -> HTTPAnswer {
            try await bench.call("POST", "/v1/dead-letters/" + action, body: body, key: key)
        }
        #expect(try await post("redrive", body: "{}").status == 422, "a call without a filter is refused")
        #expect(try await post("redrive", body: #"{"letters":["1-0"]}"#).field == "letters")
        #expect(try await post("redrive", body: #"{"every":true}"#, key: "shop/send").status == 403)
        let plan = try await post("redrive", body: #"{"every":true,"dryRun":true}"#)
        #expect(plan.body.hasPrefix(#"{"dryRun":true,"letters":2,"jobs":2,"settled":0,"stay":[]"#), "\(plan)")
        let done = try await post("redrive", body: #"{"letters":["1/0"]}"#)
        #expect(done.status == 200 && done.body.hasPrefix(#"{"letters":1,"jobs":1,"#), "\(done)")
        #expect(try await get("/1/0").body.contains(#""state":"redriven""#))
        #expect(try await bench.reports(atLeast: 1).first?.value.contains(Self.secret) == true, "it went")
        let discarded = try await post("discard", body: #"{"reason":"unreadable"}"#)
        #expect(discarded.body == #"{"letters":1}"#, "\(discarded)")
        #expect(try await get("").body == #"{"sums":[],"others":0}"#)
        #expect(try await get("", key: "bank/read").body.contains(#""letters":1"#), "untouched")
        #expect(try await get("?settled=true").body.contains("discarded"))
        await bench.stop()
    }
}
