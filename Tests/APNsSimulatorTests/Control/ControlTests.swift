import Cryptography
import Foundation
import HTTP2
import Identifiers
import ProcessTesting
import Telemetry
import Testing

@testable import APNsSimulator

/// The whole simulator, with faults requested over its control API.
struct ControlTests {
    @Test func `a rule acts from its creation to its deletion`() async throws {
        try await withSimulator { simulator in
            let client = simulator.client()
            #expect(await client.send(simulator.push(1)).status == 200)
            let rule = #"{"match":{"times":2},"answer":{"reason":"TooManyRequests","retryAfterSeconds":7}}"#
            #expect(try await simulator.control("POST", "/v1/script", rule).hasPrefix("200 "))
            let busy = await client.send(simulator.push(2))
            #expect(busy.status == 429 && busy.reason == "TooManyRequests")
            #expect(busy.headers["retry-after"] == "7")
            let shown = try await simulator.control("GET", "/v1/script")
            #expect(shown.contains(#""hits":{"met":1,"acted":1}"#), "\(shown)")
            try await simulator.control("DELETE", "/v1/script")
            #expect(await client.send(simulator.push(3)).status == 200)
        }
    }

    @Test func `a script with an error is refused completely, and the previous script stays`() async throws {
        try await withSimulator { simulator in
            let validScript = #"{"rules":[{"answer":{"status":418,"body":"teapot"}}]}"#
            #expect(try await simulator.control("PUT", "/v1/script", validScript).hasPrefix("200 "))
            let answer = try await simulator.control("PUT", "/v1/script", #"{"ruls":[],"seed":-1}"#)
            #expect(
                answer.hasPrefix("400 ") && answer.contains("ruls") && answer.contains("seed"), "\(answer)")
            let push = await simulator.client().send(simulator.push())
            #expect(push.status == 418 && push.body == "teapot")
        }
    }

    @Test func `a share over many requests matches the counts in the journal`() async throws {
        try await withSimulator { simulator in
            let script = """
                {"seed":3,"rules":[{"match":{"share":0.2},"answer":{"reason":"InternalServerError"}},
                 {"match":{"every":10},"reset":{"code":"REFUSED_STREAM"}}]}
                """
            try await simulator.control("PUT", "/v1/script", script)
            let client = simulator.client()
            var counts: [String: Int] = [:]
            for number in 1...400 {
                let answer = await client.send(simulator.push(number))
                counts["\(answer.status) \(answer.reason ?? "")", default: 0] += 1
            }
            let failed = counts["500 InternalServerError"] ?? 0
            #expect((40...120).contains(failed), "\(counts)")
            #expect((25...40).contains(counts["0 "] ?? 0), "\(counts)")
            let summary = try await simulator.control("GET", "/v1/summary")
            #expect(summary.contains(#""requests":400"#), "\(summary)")
            #expect(
                summary.contains(#"{"status":500,"reason":"InternalServerError","count":\#(failed)}"#),
                "\(summary)")
            #expect(summary.contains(#"{"code":"REFUSED_STREAM","count":\#(counts["0 "] ?? 0)}"#))
        }
    }

    @Test func `goaway, settings, stall and close affect the open connections`() async throws {
        try await withSimulator { simulator in
            let client = simulator.client()
            #expect(await client.send(simulator.push(1)).status == 200)
            #expect(
                try await simulator.control("POST", "/v1/settings", #"{"streamsMax":3}"#)
                    == #"200 {"connections":1}"#)
            try await eventually("the new allowance") { client.streamsMax.last == 3 }
            #expect(try await simulator.control("POST", "/v1/close", #"{"connection":9}"#).hasPrefix("404 "))
            try await simulator.control("POST", "/v1/goaway", #"{"reason":"Shutdown"}"#)
            try await eventually("the GOAWAY") { client.goaway != nil }
            let goawayReason = String(decoding: client.goaway?.debug ?? [], as: UTF8.self)
            #expect(goawayReason.contains("Shutdown"), "\(goawayReason)")
            try await eventually("the end of the connection") { client.closeReason != nil }
            let second = simulator.client()
            #expect(await second.send(simulator.push(2)).status == 200)
            #expect(try await simulator.control("POST", "/v1/close") == #"200 {"connections":1}"#)
            try await eventually("the end of the second connection") { second.closeReason != nil }
        }
    }

    @Test func `a timetable changes the stream limit of every connection`() async throws {
        try await withSimulator { simulator in
            let client = simulator.client()
            #expect(await client.send(simulator.push(1)).status == 200)
            let steps = [400, 1, 0, 500].enumerated().map {
                #"{"atMilliseconds":\#($0 * 20),"settings":{"streamsMax":\#($1)}}"#
            }
            try await simulator.control(
                "PUT", "/v1/script",
                #"{"timetable":{"everyMilliseconds":80,"steps":[\#(steps.joined(separator: ","))]}}"#)
            try await eventually("two rounds") { client.streamsMax.filter { $0 == 0 }.count >= 2 }
            #expect(client.streamsMax.contains(400) && client.streamsMax.contains(500))
        }
    }

    @Test func `a fixed standing of a token is answered with its time`() async throws {
        try await withSimulator { simulator in
            let client = simulator.client()
            let path = "/v1/tokens/" + String(decoding: ScriptSamples.token(1).hex, as: UTF8.self)
            let answer = try await simulator.control(
                "POST", path, #"{"standing":"gone","since":1700000000000}"#)
            #expect(answer.hasPrefix("200 ") && answer.contains("tok:"))
            let gone = await client.send(simulator.push(1, token: 1))
            #expect(
                gone.status == 410 && gone.reason == "Unregistered" && gone.timestamp == 1_700_000_000_000)
            #expect(await client.send(simulator.push(2, token: 2)).status == 200)
            try await simulator.control("POST", path, #"{"standing":"expired"}"#)
            #expect(await client.send(simulator.push(3, token: 1)).reason == "ExpiredToken")
            for (standing, reason) in [
                ("unknown", "BadDeviceToken"), ("of_another_topic", "DeviceTokenNotForTopic"),
            ] {
                try await simulator.control("POST", path, #"{"standing":"\#(standing)"}"#)
                #expect(await client.send(simulator.push(4, token: 1)).reason == reason)
            }
            try await simulator.control("DELETE", path)
            #expect(await client.send(simulator.push(5, token: 1)).status == 200)
            #expect(
                try await simulator.control("POST", "/v1/tokens/xyz", #"{"standing":"gone"}"#).hasPrefix(
                    "400 "))
            #expect(
                try await simulator.control("POST", path, #"{"standing":"good","since":1}"#).hasPrefix("400 ")
            )
        }
    }

    @Test func `the journal is read in pages, by token and by id, and the summary finds a duplicate push`()
        async throws
    {
        try await withSimulator { simulator in
            let client = simulator.client()
            for number in 1...5 {
                #expect(await client.send(simulator.push(number, token: number % 2)).status == 200)
            }
            #expect(await client.send(simulator.push(5, token: 1)).status == 200)
            let first = try await simulator.control("GET", "/v1/journal?limit=2")
            #expect(
                first.contains(#""number":2"#) && first.contains(#""after":2,"newest":6,"missed":0"#),
                "\(first)")
            let token = ScriptSamples.token(0).description
            let ofToken = try await simulator.control("GET", "/v1/journal?token=\(token)")
            #expect(ofToken.components(separatedBy: #""number":"#).count - 1 == 2, "\(ofToken)")
            let ofID = try await simulator.control(
                "GET", "/v1/journal?id=00000000-0000-0000-0000-100000000005")
            #expect(ofID.components(separatedBy: #""number":"#).count - 1 == 2, "\(ofID)")
            #expect(try await simulator.control("GET", "/v1/journal?afer=2").hasPrefix("400 "))
            let summary = try await simulator.control("GET", "/v1/summary")
            #expect(summary.contains(#""doubled":{"ids":1,"pushes":1,"isExact":true"#), "\(summary)")
            #expect(summary.contains(#""pushesMax":4"#), "\(summary)")
            #expect(summary.contains(#""connections":{"opened":1,"open":1}"#), "\(summary)")
        }
    }

    @Test func `the journal shows payloads on request, without tokens`() async throws {
        try await withSimulator { simulator in
            let client = simulator.client()
            let secret = String(repeating: "c0de", count: 20)
            let bodies = [
                #"{"aps":{"event":"update","content-state":{"home":1,"of":"\#(secret)"}}}"#,
                #"{"aps":"# + secret, #"{"aps":{"x":""# + String(repeating: "ü", count: 3_000) + #""}}"#,
            ]
            for body in bodies { _ = await client.send(simulator.push().with(body: body)) }
            let shown = try await simulator.control("GET", "/v1/journal?payload=true")
            #expect(
                shown.contains(
                    #""payload":{"aps":{"event":"update","content-state":{"home":1,"of":"<redacted>"}}}"#),
                "\(shown)")
            #expect(shown.contains(#""payload":"{\"aps\":<redacted>""#), "\(shown)")
            #expect(shown.contains("üüü") && shown.contains(#"","payloadIsCut":true"#), "\(shown)")
            #expect(!shown.contains(secret))
            #expect(try await !simulator.control("GET", "/v1/journal").contains("payload"))
            #expect(try await simulator.control("GET", "/v1/journal?payload=yes").hasPrefix("400 "))
        }
    }

    @Test func `a malformed provider token that APNs accepts gets a doubt in the journal`() async throws {
        try await withSimulator { simulator in
            let seconds = Double(WallTime.now().milliseconds) / 1_000
            let parts = [
                #"{"alg":"ES256","kid":"\#(simulator.connectionInfo.keyID)"}"#,
                #"{"iss":"\#(simulator.connectionInfo.teamID)","iat":\#(seconds)}"#,
            ]
            let signed = parts.map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
            let key = try SigningKey(file: simulator.connectionInfo.keyFile)
            let bearer = signed + "." + Base64URL.encode(key.sign(Array(signed.utf8)))
            let push = simulator.push().setting("authorization", "bearer \(bearer)")
            #expect(await simulator.client().send(push).status == 200)
            let journal = try await simulator.control("GET", "/v1/journal")
            #expect(journal.contains(#""doubt":"iat of the provider token has a fraction"#), "\(journal)")
        }
    }

    @Test func `connections can fail before the handshake`() async throws {
        try await withSimulator { simulator in
            try await simulator.control(
                "PUT", "/v1/script", #"{"rules":[{"match":{"atConnect":true,"nth":1},"close":true}]}"#)
            let refused = simulator.client()
            try await eventually("the end of the first connection") { refused.closeReason != nil }
            #expect(await simulator.client().send(simulator.push()).status == 200)
        }
    }

    @Test func `HEAD is answered without a body`() async throws {
        try await withSimulator { simulator in
            let answer = try await simulator.curl(["--head"], hasBody: false)
            #expect(answer.status == 0 && answer.output.hasPrefix("HTTP/2 405"), "\(answer)")
            #expect(await simulator.client().send(simulator.push().with(method: "HEAD")).body.isEmpty)
        }
    }

    @Test func `a client that speaks HTTP2 without ALPN is served, as by APNs`() async throws {
        try await withSimulator { simulator in
            let answer = try await simulator.curl(["--no-alpn", "--http2-prior-knowledge"])
            #expect(answer.status == 0 && answer.output.hasPrefix("HTTP/2 200"), "\(answer)")
        }
    }

    @Test func `curl learns that a body is too large, even if it is very large`() async throws {
        try await withSimulator { simulator in
            let directory = try TemporaryDirectory()
            let body = try directory.writeFile(named: "body", content: String(repeating: "x", count: 60_000))
            let answer = try await simulator.curl(["--data-binary", "@\(body)"])
            #expect(answer.status == 0 && answer.output.hasPrefix("HTTP/2 413"), "\(answer)")
            #expect(answer.output.contains("PayloadTooLarge"))
        }
    }

    @Test func `orchestrators and operators find the endpoints that they need`() async throws {
        try await withSimulator { simulator in
            #expect(await simulator.client().send(simulator.push()).status == 200)
            #expect(try await simulator.control("GET", "/livez") == "200 alive\n")
            let metrics = try await simulator.control("GET", "/metrics")
            #expect(
                metrics.contains(#"flotilla_apns_simulator_requests_total{outcome="2xx"} 1"#), "\(metrics)")
            let token = try await simulator.control("GET", "/v1/provider-token")
            #expect(token.hasPrefix("200 eyJ"))
            #expect(try await simulator.control("GET", "/v1/provider-token") == token, "it was made once")
            let bearer = String(token.dropFirst("200 ".count).dropLast())
            #expect(
                await simulator.client().send(simulator.push(2).setting("authorization", "bearer \(bearer)"))
                    .status == 200)
        }
    }
}
