import CatalogRecords
import Foundation
import InstallationRecords
import JSON
import Kafka
import Lifecycle
import ProcessTesting
import RecordFormat
import Settings
import Telemetry
import Testing

@testable import Gateway

/// A gateway from its listener to its topics: storage, refusals, keys, rates and health. Each test posts reports to a
/// `GatewayBench` with a key such as `shop/report` (the app and the role).
struct GatewayServiceTests {
    /// Returns a body with a heartbeat of each installation.
    private func heartbeats(of installations: [String]) -> String {
        "[" + installations.map { heartbeat(installation: $0) }.joined(separator: ",") + "]"
    }

    /// Repeats a request until it is refused beyond a rate, at most 20 times, and returns the refusal. On a busy machine the
    /// allowance grows back between two requests. The requests before must have the status `otherStatus`.
    private func refusalBeyondRate(
        otherStatus: Int, of request: () async throws -> HTTPAnswer
    ) async throws -> HTTPAnswer {
        var refusal: HTTPAnswer?
        var requestCount = 0
        while refusal == nil, requestCount < 20 {
            requestCount += 1
            let answer = try await request()
            if answer.status == 429 { refusal = answer } else { #expect(answer.status == otherStatus) }
        }
        return try #require(refusal)
    }

    @Test func `an accepted report is in the topic, in the lane of its key`() async throws {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        let single = try await bench.post(heartbeat(installation: "one"))
        #expect(single.status == 202 && single.body == #"{"accepted":1,"refused":[]}"#)
        let names = (0..<50).map { "i\($0)" }
        #expect(try await bench.post(heartbeats(of: names)).body == #"{"accepted":50,"refused":[]}"#)
        let stored = try await bench.reports(atLeast: 51)
        #expect(Set(stored.map(\.key)) == Set((names + ["one"]).map { "shop/i:\($0)" }))
        for record in stored {
            #expect(
                Int(record.partition)
                    == Murmur2.partition(forKey: Array(record.key.utf8).span, partitionCount: 4))
            #expect(record.value.hasPrefix(#"{"v":1,"app":"shop","environment":"production","#))
        }
        #expect(bench.metrics.render().contains(#"flotilla_gateway_records_total{outcome="accepted"} 51"#))
        await bench.stop()
    }

    @Test func `the valid reports of a body are stored, and the others are listed by index and field`()
        async throws
    {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        let mixed = try await bench.post(
            "[\(heartbeat(installation: "a")),{},\(heartbeat(installation: "b"))]")
        #expect(mixed.status == 202)
        #expect(
            mixed.body.hasPrefix(
                #"{"accepted":2,"refused":[{"index":1,"problems":[{"code":"missing","field":"kind","#))
        let refused = try await bench.post("[\(heartbeat(#","app":"bank""#))]")
        #expect(refused.status == 422 && refused.code == "reports_refused" && refused.field == "app")
        let broken = try await bench.post("[\(heartbeat(#","os":"1","os":"2""#))]")
        #expect(broken.status == 400 && broken.code == "duplicate_key" && broken.field == "[0].os")
        #expect(try await bench.post("7").status == 422)
        #expect(try await bench.post("").status == 400)
        let packed = try await bench.post(heartbeat(), headers: ["Content-Encoding: gzip"])
        #expect(packed.status == 415 && packed.code == "encoding_not_supported")
        let large = try await bench.post(String(repeating: " ", count: GatewayLimits.reportsBodyBytesMax + 1))
        #expect(large.status == 413 && large.code == "body_too_large")
        #expect(try await bench.reports(atLeast: 2).map(\.key).sorted() == ["shop/i:a", "shop/i:b"])
        await bench.stop()
    }

    @Test func `the answer to a tap names its schedule, and so does the stored report`()
        async throws
    {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        func tap(_ moreFields: String) -> String {
            #"{"environment":"production","installationId":"i","kind":"tap"\#(moreFields)}"#
        }
        let tapAnswer = try await bench.post(
            tap(#","activityId":"A","scheduleId":"s-1","scheduleName":"ready""#))
        #expect(
            tapAnswer.status == 202
                && tapAnswer.body
                    == #"{"accepted":1,"refused":[],"taps":[{"index":0,"activityId":"A","scheduleId":"s-1","scheduleName":"ready"}]}"#
        )
        // The same holds if another report of the body is refused, and for a tap without a schedule.
        let mixed = try await bench.post("[\(heartbeat()),\(tap("")),\(tap(#","activityId":"B""#))]")
        #expect(mixed.status == 202)
        #expect(mixed.body.hasSuffix(#","taps":[{"index":2,"activityId":"B"}]}"#), "\(mixed.body)")
        let stored = try await bench.reports(atLeast: 3).map {
            try Report.decode(Array($0.value.utf8), with: JSONReader())
        }
        let tapped = try #require(stored.first { $0.activity == "A" })
        #expect(tapped.scheduleID == "s-1" && tapped.scheduleName == "ready")
        await bench.stop()
    }

    @Test func `a key grants its role, in its own app only`() async throws {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        for app in ["shop", "bank"] {
            for role in APIKey.Role.allCases {
                let answer = try await bench.post(
                    heartbeat(installation: role.rawValue), key: "\(app)/\(role.rawValue)")
                #expect(answer.status == (role == .read ? 403 : 202), "\(app) \(role)")
                if role == .read { #expect(answer.code == "key_forbidden") }
            }
        }
        let stored = try await bench.reports(atLeast: 6).map(\.key).sorted()
        #expect(
            stored
                == ["bank", "shop"].flatMap { app in ["admin", "report", "send"].map { "\(app)/i:\($0)" } })
        await bench.stop()
    }

    @Test func `only a whole key in one Authorization header is accepted, and no key is logged`() async throws
    {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        let validKey = try #require(bench.keys["shop/report"])
        let withoutKey = try await bench.post(heartbeat(), key: nil)
        #expect(
            withoutKey.status == 401 && withoutKey.code == "key_unknown"
                && withoutKey.header("WWW-Authenticate") == "Bearer")
        for headers in [
            ["Authorization: \(validKey)"], ["Authorization: Basic \(validKey)"],
            ["X-Netmera-Api-Key: \(validKey)"],
            ["Authorization: Bearer \(validKey) x"], ["Authorization: Bearer \(validKey.dropLast())"],
            ["Authorization: Bearer \(validKey)", "Authorization: Bearer \(validKey)"],
        ] {
            #expect(try await bench.post(heartbeat(), key: nil, headers: headers).code == "key_unknown")
        }
        #expect(
            try await bench.post(heartbeat(), key: nil, headers: ["authorization: bearer \(validKey)"]).status
                == 202)
        await bench.stop()
        let log = try bench.logged()
        #expect(log.contains("the catalog has been read"))
        // A key ends with its secret of 43 characters and a checksum of 6.
        for key in bench.keys.values { #expect(!log.contains(key.suffix(49)), "a key in the log") }
    }

    @Test func `a key beyond its rate gets a retry time, and other keys are served`() async throws {
        let bench = try await GatewayBench.onTestCluster {
            $0.limits.requestsPerKeyAndSecondMax = 1
        }
        try await bench.startAndWait()
        let port = bench.port
        let key = try #require(bench.keys["shop/report"])
        let answers = try await onThread {
            let peer = try HTTPPeer(port: port)
            return try (0..<4).map { _ in
                try peer.exchange(
                    "POST", "/v1/reports", headers: ["Authorization: Bearer \(key)"],
                    body: Array(heartbeat().utf8))
            }
        }
        #expect(answers[0].status == 202)
        let limited = answers.filter { $0.status == 429 }
        #expect(!limited.isEmpty)
        #expect(limited.allSatisfy { $0.code == "rate_limited" && $0.header("Retry-After") == "1" })
        #expect(try await bench.post(heartbeat(), key: "bank/report").status == 202)
        await bench.stop()
    }

    @Test func `the refusal beyond a rate comes late with a phone's key, and at once with a backend's`()
        async throws
    {
        let bench = try await GatewayBench.onTestCluster {
            $0.limits.requestsPerKeyAndSecondMax = 1
        }
        try await bench.startAndWait()
        // Returns the shortest time of a refusal.
        func refusalMilliseconds(key: String) async throws -> Int {
            var shortest = Int.max
            for _ in 0..<4 {
                let began = Instant.now()
                let answer = try await bench.post(heartbeat(), key: key)
                if answer.status == 429 {
                    shortest = min(shortest, Instant.now().milliseconds(since: began))
                } else {
                    #expect(answer.status == 202)
                }
            }
            return shortest
        }
        let late = GatewayLimits.rateRefusalMilliseconds
        let (phone, backend) = (
            try await refusalMilliseconds(key: "shop/report"), try await refusalMilliseconds(key: "shop/send")
        )
        #expect(phone >= late && phone < .max && backend < late)
        await bench.stop()
    }

    @Test func `an address beyond its rate gets the limit, by the address from the listed proxy`()
        async throws
    {
        let bench = try await GatewayBench.onTestCluster {
            $0.limits.requestsPerPeerAndSecondMax = 1
            $0.proxies = [AddressRange("127.0.0.0/8")!]
        }
        try await bench.startAndWait()
        func post(_ address: String, key: String = "shop/report") async throws -> HTTPAnswer {
            try await bench.post(heartbeat(), key: key, headers: ["X-Forwarded-For: \(address)"])
        }
        var limited: HTTPAnswer?
        for _ in 0..<4 {
            let answer = try await post("203.0.113.9")
            if answer.status == 429 { limited = answer } else { #expect(answer.status == 202) }
        }
        let answer = try #require(limited)
        #expect(answer.code == "rate_limited" && answer.header("Retry-After") == "1")
        #expect(answer.body.contains("gateway.peer-rate: your address may make 1 requests per second"))
        #expect(try await post("203.0.113.10").status == 202, "another phone behind the same proxy")
        for _ in 0..<5 {
            #expect(try await post("203.0.113.9", key: "shop/send").status == 202, "a backend's key")
        }
        #expect(bench.metrics.render().contains(#"turned_away_total{reason="peer_rate"}"#))
        await bench.stop()
        #expect(!(try bench.logged().contains("does not list")), "the proxy is listed")
    }

    @Test func `a body with too many reports for its address is refused as a whole, with a retry time`()
        async throws
    {
        let bench = try await GatewayBench.onTestCluster {
            $0.limits.reportsPerPeerAndSecondMax = 1000
        }
        try await bench.startAndWait()
        // Reports that are refused cost as much work, so they count too.
        let body = "[" + Array(repeating: "{}", count: 1000).joined(separator: ",") + "]"
        let answer = try await refusalBeyondRate(otherStatus: 422) { try await bench.post(body) }
        #expect(answer.code == "rate_limited" && answer.header("Retry-After") == "1")
        #expect(answer.body.contains("gateway.peer-reports: your address may send 1000 reports per second"))
        #expect(try await bench.post(body, key: "shop/send").status == 422, "a backend's key")
        #expect(bench.metrics.render().contains(#"turned_away_total{reason="peer_reports"} 1"#))
        await bench.stop()
    }

    @Test(arguments: [false, true])
    func `an address is charged by byte, from the head or when its chunks have arrived`(_ isChunked: Bool)
        async throws
    {
        let bench = try await GatewayBench.onTestCluster {
            $0.limits.bytesPerPeerAndSecondMax = 1 << 20
        }
        try await bench.startAndWait()
        let body = Array(repeating: UInt8(ascii: " "), count: 1_000_000)
        let (port, key) = (bench.port, try #require(bench.keys["shop/report"]))
        // The body has only white space, so it is no JSON.
        let answer = try await refusalBeyondRate(otherStatus: 400) {
            try await onThread {
                let (peer, headers) = (try HTTPPeer(port: port), ["Authorization: Bearer \(key)"])
                return isChunked
                    ? try peer.exchangeChunk("POST", "/v1/reports", headers: headers, body: body)
                    : try peer.exchange("POST", "/v1/reports", headers: headers, body: body)
            }
        }
        #expect(answer.header("Retry-After") == "1")
        #expect(answer.body.contains("gateway.peer-bytes: your address may send 1048576 bytes per second"))
        #expect(bench.metrics.render().contains(#"turned_away_total{reason="peer_bytes"} 1"#))
        await bench.stop()
    }

    @Test func `an address may report a number of new installations, and a private address any`()
        async throws
    {
        let bench = try await GatewayBench.onTestCluster {
            $0.limits.newInstallationsPerPeerAndHourMax = 2
            $0.proxies = [AddressRange("127.0.0.0/8")!]
        }
        try await bench.startAndWait()
        func post(_ names: [String], _ address: String, as key: String = "shop/report") async throws
            -> HTTPAnswer
        {
            try await bench.post(heartbeats(of: names), key: key, headers: ["X-Forwarded-For: \(address)"])
        }
        let mixed = try await post(["a", "b", "c", "a"], "203.0.113.9")
        #expect(mixed.status == 202)
        #expect(
            mixed.body.hasPrefix(
                #"{"accepted":3,"refused":[{"index":2,"problems":[{"code":"rate_limited","field":"installationId","message":"gateway.peer-installations: your address may report 2 new"#
            ), "\(mixed.body)")
        let alone = try await post(["d"], "203.0.113.9")
        #expect(alone.status == 429 && alone.code == "rate_limited")
        #expect(try #require(alone.header("Retry-After").flatMap { Int($0) }) > 1500)
        #expect(
            try await post(["b", "a"], "203.0.113.9").body.hasPrefix(#"{"accepted":2,"#), "they are known")

        // The owner of an IPv6 network has one quota.
        #expect(try await post(["a", "b"], "2001:db8::1").status == 202)
        #expect(try await post(["c"], "2001:db8::ffff:2").status == 429)
        // A private address belongs to an internal network, which hides the phones.
        #expect(try await post(["a", "b", "c", "d"], "10.1.2.3").body.hasPrefix(#"{"accepted":4,"#))
        #expect(try await post(["e", "f", "g"], "203.0.113.9", as: "shop/send").status == 202)
        #expect(bench.metrics.render().contains(#"turned_away_total{reason="peer_installations"} 3"#))
        await bench.stop()
    }

    @Test func `every rate limit has a setting, a counter from the start, and a place on the page`() throws {
        let metrics = Metrics()
        _ = GatewayMetrics(metrics)
        let renderedMetrics = metrics.render()
        let settingsPage = try Repository.text(of: "deploy/book/settings.md")
        let gatewayPage = try Repository.text(of: "deploy/book/gateway.md")
        for limit in RateLimit.allCases {
            #expect(settingsPage.contains("| `gateway.\(limit.rawValue)` |"), "\(limit)")
            #expect(gatewayPage.contains("`gateway.\(limit.rawValue)`"), "\(limit)")
            #expect(gatewayPage.contains("`\(limit.label)`"), "\(limit)")
            #expect(renderedMetrics.contains(#"{reason="\#(limit.label)"} 0"#), "\(limit)")
        }
    }

    @Test func `only the reports of an installation beyond its rate are refused, with a retry time`()
        async throws
    {
        let bench = try await GatewayBench.onTestCluster {
            $0.limits.reportsPerInstallationAndMinuteMax = 2
        }
        try await bench.startAndWait()
        // No proxy is listed, so the header is ignored, and logged once.
        let mixed = try await bench.post(
            heartbeats(of: ["a", "b", "a", "a"]), headers: ["X-Forwarded-For: 1.1.1.1"])
        #expect(mixed.status == 202)
        #expect(
            mixed.body.hasPrefix(
                #"{"accepted":3,"refused":[{"index":3,"problems":[{"code":"rate_limited","field":"installationId","message":"gateway.installation-rate: "#
            ))
        let alone = try await bench.post(heartbeat(installation: "a"))
        #expect(alone.status == 429 && alone.code == "rate_limited")
        #expect(try #require(alone.header("Retry-After").flatMap { Int($0) }) > 25)
        #expect(try await bench.post(heartbeats(of: ["a", "a", "a"]), key: "shop/send").status == 202)
        // Two reports of `a` with the phone's key, three with the backend's, and one of `b`.
        #expect(
            try await bench.reports(atLeast: 6).map(\.key).sorted()
                == Array(repeating: "shop/i:a", count: 5) + ["shop/i:b"])
        await bench.stop()
        #expect(try bench.logged().contains("gateway.proxies does not list"))
    }

    @Test func `a request without a key is refused before its body arrives`() async throws {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        let (port, validKey) = (bench.port, try #require(bench.keys["shop/report"]))
        let answers = try await onThread {
            try ["no key", validKey].map { key in
                try HTTPPeer(port: port).announce(
                    "/v1/reports", headers: ["Authorization: Bearer \(key)"], bodyByteCount: 1 << 20)
            }
        }
        #expect(answers[0].status == 401 && answers[0].code == "key_unknown")
        #expect(answers[1].status == 100, "a valid key may send its body")
        await bench.stop()
    }

    @Test func `repeated failures are delayed, and a valid key from the same address is not`()
        async throws
    {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        let clock = ContinuousClock()
        let startedAt = clock.now
        for _ in 0..<FailedAttempts.undelayedMax + 3 {
            #expect(try await bench.post(heartbeat(), key: "no key").status == 401)
        }
        // The delays are 100, 200 and 400 ms.
        #expect(clock.now - startedAt >= .milliseconds(690))
        async let held = bench.post(heartbeat(), key: "no key")
        #expect(try await bench.post(heartbeat()).status == 202)
        #expect(try await held.status == 401)
        #expect(bench.metrics.render().contains(#"flotilla_gateway_refused_keys_total{reason="unknown"} 14"#))
        await bench.stop()
    }

    @Test func `the listener serves liveness and readiness but no metrics`()
        async throws
    {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        #expect(try await bench.get("/livez").body == "alive\n")
        #expect(try await bench.get("/readyz").body == "ready\n")
        #expect(try await bench.get("/metrics").status == 404)
        #expect(try await bench.get("/v1/reports").status == 405)
        let clock = ContinuousClock()
        let startedAt = clock.now
        await bench.stop()
        #expect(clock.now - startedAt < .seconds(5))
    }
}
