import Foundation
import HTTP2
import JSON
import Lifecycle
import ProcessTesting
import Testing

@testable import APNsSimulator

/// Scripts in JSON, and their effect on a client's connection.
struct ScriptedFaultTests {
    /// Runs a test with a simulator that follows `script` and whose connections have many streams from the start.
    private func withScript(
        _ script: String, run test: (ControlledSimulator) async throws -> Void
    ) async throws {
        let manyStreams = { (settings: inout SimulatorServiceSettings) in
            settings.simulator.streams.initialStreams = 1_000
        }
        try await withSimulator(manyStreams) { simulator in
            let answer = try await simulator.control("PUT", "/v1/script", script)
            #expect(answer.hasPrefix("200 "), "\(answer)")
            try await test(simulator)
        }
    }

    /// Sends these pushes at the same time. Returns their answers in the order of the numbers.
    private func sendPushes(
        _ numbers: ClosedRange<Int>, on client: PushClient, to simulator: ControlledSimulator
    ) async -> [TestAnswer] {
        await withTaskGroup(of: (Int, TestAnswer).self) { group in
            for number in numbers { group.addTask { (number, await client.send(simulator.push(number))) } }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    @Test func `a silent request is never answered, and the phone gets the push if processed`() async throws {
        let script = """
            {"rules":[{"match":{"nth":1},"silence":{"processed":true}},
             {"match":{"nth":2},"silence":{"processed":false}}]}
            """
        try await withScript(script) { simulator in
            let client = simulator.client()
            let answers = Task { await sendPushes(1...6, on: client, to: simulator) }
            try await eventually("the others' answers") {
                try await simulator.entries().filter { $0.status == 200 }.count == 4
            }
            let silent = try await simulator.entries().filter { $0.silence == true }
            #expect(silent.map(\.delivered).sorted { !$0 && $1 } == [false, true])
            client.close()
            let ends = await answers.value.map(\.end)
            #expect(ends.filter { $0 == .connectionLost }.count == 2, "\(ends)")
            #expect(ends.filter { $0 == .answered }.count == 4)
        }
    }

    @Test func `curl gives up on a silent request`() async throws {
        try await withScript(#"{"rules":[{"match":{"nth":1},"silence":{"processed":true}}]}"#) { simulator in
            // curl ends with status 28 when its time is over.
            #expect(try await simulator.curl(["--max-time", "1"]).status == 28)
            let answer = try await simulator.curl(["--max-time", "30"])
            #expect(answer.status == 0 && answer.output.hasPrefix("HTTP/2 200"), "\(answer)")
        }
    }

    @Test(arguments: [
        #"{"fixedMilliseconds":150}"#, #"{"uniform":{"fromMilliseconds":20,"toMilliseconds":300}}"#,
        #"{"exponentialMeanMilliseconds":80}"#,
        #"{"lognormal":{"p50Milliseconds":40,"p99Milliseconds":400}}"#,
    ])
    func `each answer waits as long as its distribution says`(delay: String) async throws {
        let text = #"{"seed":11,"rules":[{"delay":\#(delay)}]}"#
        let script = try FaultScript(Array(text.utf8), with: JSONReader())
        var rule = RunningRule(script.rules[0], at: 0, seed: script.seed)
        let distribution = try #require(script.rules[0].effect.delay)
        let drawn = (0..<20).map { _ in
            let isChosen = rule.shouldActOnNextMatch()
            #expect(isChosen)
            return rule.drawMilliseconds(from: distribution)
        }
        try await withScript(text) { simulator in
            #expect(
                await sendPushes(1...20, on: simulator.client(), to: simulator)
                    .allSatisfy { $0.status == 200 })
            try await eventually("all entries") { try await simulator.entries().count == 20 }
            let entries = try await simulator.entries().sorted { $0.stream < $1.stream }
            for (entry, expectedMilliseconds) in zip(entries, drawn) {
                // The wall clock and the loop's clock are read at different moments.
                let waited = entry.endedAt - entry.receivedAt
                #expect(waited >= expectedMilliseconds - 2, "stream \(entry.stream) of \(delay)")
                #expect(waited < expectedMilliseconds + 20_000, "stream \(entry.stream) of \(delay)")
            }
            #expect(Set(drawn).count > 1 || delay.contains("fixed"))
        }
    }

    @Test func `a stall delays the requests and answers of one connection, which then continues`()
        async throws
    {
        try await withScript(#"{"rules":[{"match":{"nth":2},"stallMilliseconds":4000}]}"#) { simulator in
            let (stalled, other) = (simulator.client(), simulator.client())
            #expect(await stalled.send(simulator.push(1)).status == 200)
            let startedAt = Instant.now()
            async let second = stalled.send(simulator.push(2))
            try await eventually("the stall") { try await simulator.firstRuleHits() == 1 }
            async let third = stalled.send(simulator.push(3))
            #expect(await other.send(simulator.push(4)).status == 200)
            #expect(try await simulator.entries().map(\.number).count == 2, "the third request was not read")
            #expect(await second.status == 200)
            #expect(Instant.now().milliseconds(since: startedAt) >= 3_990)
            #expect(await third.status == 200)
        }
    }

    @Test func `a stall over the control API affects all connections, or the named one`() async throws {
        try await withSimulator { simulator in
            let (first, second) = (simulator.client(), simulator.client())
            for client in [first, second] { #expect(await client.send(simulator.push(1)).status == 200) }
            var startedAt = Instant.now()
            let oneConnection = #"{"milliseconds":1200,"connection":1}"#
            #expect(
                try await simulator.control("POST", "/v1/stall", oneConnection)
                    == #"200 {"connections":1}"#)
            #expect(await second.send(simulator.push(2)).status == 200)
            #expect(try await simulator.entries().count == 3)
            #expect(await first.send(simulator.push(3)).status == 200)
            #expect(Instant.now().milliseconds(since: startedAt) >= 1_190)
            startedAt = Instant.now()
            let stalled = try await simulator.control("POST", "/v1/stall", #"{"milliseconds":600}"#)
            #expect(stalled == #"200 {"connections":2}"#)
            async let answers = [first.send(simulator.push(4)), second.send(simulator.push(5))]
            #expect(await answers.allSatisfy { $0.status == 200 })
            #expect(Instant.now().milliseconds(since: startedAt) >= 590)
            for wrong in ["{}", #"{"milliseconds":-1}"#, #"{"milliseconds":1,"conection":1}"#] {
                #expect(try await simulator.control("POST", "/v1/stall", wrong).hasPrefix("400 "), "\(wrong)")
            }
        }
    }

    @Test func `without window updates a client sends exactly one window`() async throws {
        try await withScript(#"{"rules":[{"match":{"nth":1},"starveWindows":true}]}"#) { simulator in
            let client = simulator.client()
            #expect(await client.send(simulator.push(0)).status == 200)
            let body = ReasonTests.paddedBody(byteCount: 4_000)
            let answeredCount = Task {
                await withTaskGroup(of: RequestOutcome.EndReason.self) { group in
                    for number in 1...300 {
                        group.addTask { await client.send(simulator.push(number).with(body: body)).end }
                    }
                    return await group.reduce(into: 0) { $0 += $1 == .answered ? 1 : 0 }
                }
            }
            // The window of a connection is 1 MiB: about 262 bodies of 4,000 bytes.
            try await eventually("the window to be used up") {
                try await simulator.summary().contains(#""requests":263"#)
            }
            #expect(await simulator.client().send(simulator.push(900)).status == 200, "others continue")
            #expect(try await simulator.summary().contains(#""requests":264"#))
            client.close()
            #expect(await answeredCount.value <= 262)
        }
    }

    @Test func `a connection is reset after the given number of answer bytes`() async throws {
        try await withScript(#"{"rules":[{"match":{"nth":1},"resetAfterBytes":600}]}"#) { simulator in
            let client = simulator.client()
            var answered = 0
            for number in 1...200 {
                let answer = await client.send(simulator.push(number))
                guard answer.end == .answered else { break }
                answered += 1
            }
            try await eventually("the reset") { client.closeReason?.contains("reset") == true }
            // 600 bytes are some tens of answers, because they include SETTINGS and acknowledgements.
            #expect((5...60).contains(answered), "\(answered)")
            try await eventually("all entries") { try await simulator.entries().count > answered }
            let entries = try await simulator.entries()
            #expect(entries.filter { $0.answerLeft == true }.count >= answered)
            #expect(entries.contains { $0.answerLeft == false }, "the truncated answer is marked")
            #expect(await simulator.client().send(simulator.push(900)).status == 200)
        }
    }

    @Test func `a GOAWAY has the scripted last stream, and nothing above it is processed`() async throws {
        let script = """
            {"rules":[{"match":{"requestOfConnection":6},
              "goaway":{"streamsBack":6,"reason":"Shutdown","thenClose":true}},
             {"delay":{"fixedMilliseconds":1500}}]}
            """
        try await withScript(script) { simulator in
            let client = simulator.client()
            let answers = await sendPushes(1...8, on: client, to: simulator)
            #expect(answers.filter { $0.end == .answered && $0.status == 200 }.count == 3, "\(answers)")
            #expect(answers.filter { $0.end == .notProcessed }.count == 5)
            let goaway = try #require(client.goaway)
            #expect(goaway.lastStream == 5 && goaway.code == .noError)
            #expect(String(decoding: goaway.debug, as: UTF8.self) == #"{"reason":"Shutdown"}"#)
            try await eventually("the end of the connection") { client.closeReason != nil }
            let entries = try await simulator.entries()
            #expect(entries.filter { $0.status == 200 }.map(\.stream).sorted() == [1, 3, 5])
            #expect(entries.filter { $0.notProcessed == true }.allSatisfy { !$0.delivered && $0.stream > 5 })
        }
    }

    @Test(arguments: [
        ("REFUSED_STREAM", HTTP2ErrorCode.refusedStream), ("INTERNAL_ERROR", .internalError),
        ("ENHANCE_YOUR_CALM", .enhanceYourCalm), ("CANCEL", .cancel), ("77", HTTP2ErrorCode(rawValue: 77)),
    ])
    func `a stream is reset with the scripted code, before or after the phone gets the push`(
        name: String, code: HTTP2ErrorCode
    ) async throws {
        let written = Int(name) == nil ? "\"\(name)\"" : name
        let script = """
            {"rules":[{"match":{"nth":1},"reset":{"code":\(written),"processed":true}},
             {"match":{"nth":2},"reset":{"code":\(written)}}]}
            """
        try await withScript(script) { simulator in
            let client = simulator.client()
            for number in 1...2 {
                let answer = await client.send(simulator.push(number))
                #expect(answer.end == (code == .refusedStream ? .refused : .reset) && answer.code == code)
            }
            #expect(await client.send(simulator.push(3)).status == 200, "the connection stays open")
            try await eventually("all entries") { try await simulator.entries().count == 3 }
            #expect(try await simulator.entries().map(\.delivered) == [true, false, true])
            #expect(try await simulator.entries().map { $0.status ?? 0 } == [0, 0, 200])
        }
    }

    @Test func `SETTINGS with one stream make a client wait for each answer`() async throws {
        let script = """
            {"rules":[{"match":{"nth":1},"settings":{"streamsMax":1}},{"delay":{"fixedMilliseconds":100}}]}
            """
        try await withScript(script) { simulator in
            let client = simulator.client()
            #expect(await client.send(simulator.push(1)).status == 200)
            try await eventually("the new allowance") { client.streamsMax.last == 1 }
            #expect(await sendPushes(2...6, on: client, to: simulator).allSatisfy { $0.status == 200 })
            try await eventually("all entries") { try await simulator.entries().count == 6 }
            let entries = try await simulator.entries().dropFirst()
            for (before, next) in zip(entries, entries.dropFirst()) {
                #expect(next.receivedAt >= before.endedAt - 2, "the requests are served one after another")
            }
        }
    }
}
