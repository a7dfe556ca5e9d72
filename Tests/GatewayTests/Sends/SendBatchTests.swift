import CatalogRecords
import Foundation
import JSON
import Sends
import Telemetry
import Testing

@testable import Gateway

/// Batches of sends over HTTP: each send has its own answer.
struct SendBatchTests {
    private static let path = "/v1/sends/batch"

    /// Returns the items of a batch's answer.
    private func items(_ answer: HTTPAnswer) throws -> [[String: Any]] {
        let object = try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any]
        return try #require(object?["items"] as? [[String: Any]], "\(answer.body)")
    }

    private func batch(_ sends: [String]) -> String { #"{"sends":[\#(sends.joined(separator: ","))]}"# }

    @Test func `each send of a batch is answered on its own, and only valid sends are stored`() async throws {
        let bench = try await GatewayBench.forSends()
        let keyedUpdate = SendsServiceTests.update(ofGroup: "m3")
            .adding(member: "idempotencyKey", value: #""k""#)
        let answer = try await bench.call(
            "POST", Self.path,
            body: batch([
                SendsServiceTests.update(ofGroup: "m1"), #"{"event":"update","groupId":"m2"}"#,
                keyedUpdate, "7",
                SendsServiceTests.start(ofGroup: "m4", audience: #"{"segments":["x"]}"#),
            ]))
        #expect(answer.status == 200, "\(answer.body)")
        let items = try items(answer)
        #expect(items.map { $0["status"] as? Int } == [202, 422, 202, 422, 422])
        #expect(items.map { $0["index"] as? Int } == [0, 1, 2, 3, 4])
        let problems = items.compactMap { ($0["error"] as? [String: Any])?["code"] as? String }
        #expect(problems == ["required", "wrong_type", "segment_unknown"])
        #expect(((items[1]["error"] as? [String: Any])?["field"] as? String) == "contentState")
        let ids = items.compactMap { $0["sendId"] as? String }
        #expect(ids.count == 2)
        #expect(Set(try await bench.sends(atLeast: 2).map(\.id)) == Set(ids))
        #expect(try await bench.auditOfSends(atLeast: 2).count { $0.action == "send.update" } == 2)

        // The same key in a single request is the same send.
        let single = try await bench.call(
            "POST", "/v1/sends", body: SendsServiceTests.update(ofGroup: "m3"),
            headers: ["Idempotency-Key: k"])
        #expect(try single.member("sendId") == ids[1])
        let fingerprints = try await bench.sends(atLeast: 3).filter { $0.id == ids[1] }.map(\.fingerprint)
        #expect(fingerprints.count == 2 && fingerprints[0] == fingerprints[1])
        #expect(
            bench.metrics.render().contains(
                #"flotilla_gateway_requests_total{kind="send",outcome="refused"} 3"#))
        #expect(
            bench.metrics.render().contains("\nflotilla_gateway_in_flight 0\n"),
            "no request is in flight any more")
        await bench.stop()
    }

    @Test func `a batch is refused as a whole if it is no list of 1 to 500 sends`() async throws {
        let bench = try await GatewayBench.forSends()
        let update = SendsServiceTests.update()
        let cases: [(body: String, headers: [String], code: String, field: String?)] = [
            ("{}", [], "missing", "sends"), (#"{"sends":[]}"#, [], "out_of_range", "sends"),
            (#"{"sends":{}}"#, [], "wrong_type", "sends"),
            (batch(Array(repeating: update, count: 501)), [], "out_of_range", "sends"),
            (#"{"sends":[\#(update)],"key":1}"#, [], "unknown_field", "key"),
            (batch([update]), ["Idempotency-Key: k"], "not_allowed", "Idempotency-Key"),
        ]
        for (body, headers, code, field) in cases {
            let answer = try await bench.call("POST", Self.path, body: body, headers: headers)
            #expect(answer.status == 422 && answer.code == code && answer.field == field, "\(answer.body)")
        }
        #expect(
            try await bench.call("POST", Self.path, body: batch([update]), key: "shop/read").status == 403)
        #expect(try await bench.sends(atLeast: 0).isEmpty)
        #expect(
            bench.metrics.render().contains("\nflotilla_gateway_in_flight 0\n"),
            "no request is in flight any more")
        await bench.stop()
    }

    @Test func `a batch costs as many requests as it has sends`() async throws {
        let bench = try await GatewayBench.forSends {
            $0.limits.requestsPerKeyAndSecondMax = 300
        }
        func post(_ count: Int) async throws -> HTTPAnswer {
            try await bench.call(
                "POST", Self.path, body: batch(Array(repeating: SendsServiceTests.update(), count: count)))
        }
        // The rate allows one of two batches in a second. On a busy machine the second batch can come a second later and
        // pass, so the pair is sent again until one is refused.
        var answers: [HTTPAnswer] = []
        var pairCount = 0
        while answers.last?.status != 429, pairCount < 20 {
            pairCount += 1
            async let first = post(290)
            async let second = post(290)
            answers = try await [first, second].sorted { $0.status < $1.status }
        }
        try #require(answers.map(\.status) == [200, 429])
        #expect(answers.allSatisfy { $0.header("RateLimit-Policy") == #""key-rate";q=300;w=1"# })
        #expect(answers[1].code == "rate_limited" && answers[1].header("Retry-After") == "1")
        await bench.stop()
    }

    @Test func `each send of a batch waits like a request`() async throws {
        let bench = try await GatewayBench.forSends { $0.limits.requestsWaitingMax = 50 }
        let sends = Array(repeating: SendsServiceTests.update(), count: 51)
        let answer = try await bench.call("POST", Self.path, body: batch(sends))
        #expect(answer.status == 503 && answer.code == "overloaded", "\(answer.body)")
        let smaller = try await bench.call("POST", Self.path, body: batch(Array(sends.prefix(50))))
        #expect(smaller.status == 200, "\(smaller.body)")
        await bench.stop()
    }
}
