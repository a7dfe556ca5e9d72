import HTTP2
import JSON
import Payloads
import Simulation
import Testing

@testable import APNsSimulator

/// Parsing of scripts in JSON.
struct ScriptReadingTests {
    private let reader = JSONReader(limits: FaultScript.limits)

    private func script(from text: String) throws -> FaultScript {
        try FaultScript(Array(text.utf8), with: reader)
    }

    private func problems(of text: String) -> [String] {
        do {
            _ = try script(from: text)
            return []
        } catch let error as JSONError {
            return error.problems.map { "\($0.path) \($0.message)" }
        } catch {
            return ["\(error)"]
        }
    }

    @Test func `every written script can be read again`() throws {
        for seed in 0..<trialCount(base: 500) {
            var samples = ScriptSamples(seed)
            let script = samples.script()
            var json = JSONWriter()
            script.write(to: &json)
            let text = String(decoding: json.bytes, as: UTF8.self)
            #expect(try self.script(from: text) == script, "seed \(seed): \(text)")
        }
    }

    @Test func `damaged scripts are refused or read, and nothing traps`() throws {
        for seed in 0..<trialCount(base: 2_000) {
            var samples = ScriptSamples(seed)
            var json = JSONWriter()
            samples.script().write(to: &json)
            var bytes = json.bytes
            for _ in 0...samples.random.number(below: 4) {
                bytes[samples.random.number(below: bytes.count)] = UInt8(samples.random.number(below: 128))
            }
            _ = try? FaultScript(bytes, with: reader)
        }
    }

    @Test func `every effect can be written in JSON`() throws {
        let script = try script(
            from:
                """
                {"seed": 18446744073709551615, "rules": [
                  {"name": "busy", "match": {"share": 0.25, "events": ["update", "end"]},
                   "answer": {"reason": "TooManyRequests", "retryAfterSeconds": 2}},
                  {"answer": {"status": 410, "reason": "Unregistered", "timestamp": {"fromNowMilliseconds": -1000}}},
                  {"answer": {"status": 418, "body": "a teapot"}},
                  {"answer": {"status": 502}},
                  {"reset": {"code": "REFUSED_STREAM"}}, {"reset": {"code": 8, "processed": true}},
                  {"silence": {"processed": true}},
                  {"delay": {"lognormal": {"p50Milliseconds": 40, "p99Milliseconds": 900}}},
                  {"match": {"requestOfConnection": 100}, "goaway": {"streamsBack": 6, "reason": "Shutdown"}},
                  {"settings": {"streamsMax": 1}}, {"stallMilliseconds": 3000}, {"starveWindows": true},
                  {"resetAfterBytes": 1000}, {"match": {"atConnect": true, "every": 3}, "close": true}],
                 "timetable": {"everyMilliseconds": 2000, "steps": [
                  {"atMilliseconds": 0, "settings": {"streamsMax": 1000}}, {"atMilliseconds": 1000, "settings": {"streamsMax": 0}}]}}
                """)
        let effects = script.rules.map(\.effect)
        #expect(script.seed == .max)
        #expect(script.rules[0].match == RuleMatch(events: [.update, .end], share: 0.25))
        #expect(
            effects[0].requestFault
                == .answer(
                    ScriptedAnswer(status: 429, content: .reason("TooManyRequests"), retryAfterSeconds: 2)))
        #expect(
            effects[2].requestFault
                == .answer(ScriptedAnswer(status: 418, content: .body(Array("a teapot".utf8)))))
        #expect(effects[3].requestFault == .answer(ScriptedAnswer(status: 502, content: .body([]))))
        #expect(effects[4].requestFault == .reset(.refusedStream, processed: false))
        #expect(effects[5].requestFault == .reset(.cancel, processed: true))
        #expect(
            effects[8].connectionFault
                == .goaway(.noError, streamsBack: 6, reason: "Shutdown", thenClose: true))
        #expect(
            script.timetable?.steps.map(\.fault) == [.settings(streamsMax: 1_000), .settings(streamsMax: 0)])
    }

    @Test func `all problems are reported at once`() {
        let reported = problems(
            of:
                """
                {"sed": 1, "rules": [
                  {"match": {"share": 1.5, "nth": 1, "every": 2, "tokens": ["xyz"], "evnts": []}, "delay": {}},
                  {"match": {"atConnect": true, "bundleId": "x"}, "silence": {}},
                  {"answer": {"reason": "Teapot"}, "reset": {"code": "TEAPOT"}},
                  {"answer": {"reason": "Unregistered", "timestamp": {}}, "close": true, "starveWindows": true},
                  {"name": "nothing"}],
                 "timetable": {"everyMilliseconds": 10, "steps": [{"atMilliseconds": 20, "close": true}, {"atMilliseconds": 5}]}}
                """)
        let expected = [
            "sed is not a known field", "rules[0].match.share must be from 0 to 1",
            "rules[0].match must not have both nth and every", "rules[0].match.tokens[0] must be a token",
            "rules[0].match.evnts is not a known field", "rules[0].delay must have exactly one of",
            "rules[1].match must not have conditions on requests", "rules[1] must have only one of",
            "rules[2].answer.status is missing", "rules[2].reset.code must be the name",
            "rules[2] must have only one of answer", "rules[3].answer.timestamp must be milliseconds",
            "rules[3] must have only one of goaway", "rules[4] must do something",
            "timetable.steps must be in the order", "timetable.steps[1] must have exactly one",
        ]
        for words in expected {
            #expect(reported.contains { $0.hasPrefix(words) }, "\(words) is not in \(reported)")
        }
    }

    @Test func `too many rules, steps and tokens are refused with their number`() {
        let rule = #"{"close":true}"#
        let rules = Array(repeating: rule, count: FaultScript.rulesMax + 1).joined(separator: ",")
        #expect(problems(of: "{\"rules\":[\(rules)]}") == ["rules has 257 elements, 256 are allowed"])
        let step = #"{"atMilliseconds":1,"close":true}"#
        let steps = Array(repeating: step, count: FaultTimetable.stepsMax + 1).joined(separator: ",")
        #expect(
            problems(of: "{\"timetable\":{\"steps\":[\(steps)]}}").first
                == "timetable.steps has 1001 elements, 1000 are allowed")
    }
}
