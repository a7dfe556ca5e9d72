import Testing

@testable import JSON

/// The problems that decoding reports: their texts, paths and number.
struct JSONProblemTests {
    private enum Action: String, CaseIterable {
        case update = "UPDATE"
        case end = "END"
    }

    @Test func `all problems are reported at once with their paths`() {
        let text =
            #"{"message":{"title":7,"extra":1},"target":{"extIds":["a",2,null]},"action":"STOP","n":300}"#
        let reported = problems(in: text) { root in
            let object = root.object()
            let message = object["message"].object()
            _ = message["title"].string()
            _ = message["groupId"].string()
            message.reportUnknownFields()
            for id in object["target"].object()["extIds"].array(countMax: .max) { _ = id.string() }
            _ = object["action"].choice(of: Action.self)
            _ = object["n"].int(in: 0...255)
            object.reportUnknownFields()
        }
        #expect(
            reported == [
                "wrong_type: message.title must be a string, not an integer",
                "missing: message.groupId is missing; it must be a string",
                "unknown_field: message.extra is not a known field; correct its name or leave it out",
                "wrong_type: target.extIds[1] must be a string, not an integer",
                "wrong_type: target.extIds[2] must be a string, not null",
                #"invalid: action must be one of "UPDATE", "END""#,
                "out_of_range: n must be from 0 to 255",
            ])
    }

    @Test func `members of a missing or wrong object are not reported again`() {
        let reported = problems(in: #"{"target":[]}"#) { root in
            _ = root.object()["target"].object()["extIds"].array(countMax: .max)
            _ = root.object()["message"].object()["title"].string()
        }
        #expect(
            reported == [
                "wrong_type: target must be an object, not an array",
                "missing: message is missing; it must be an object",
            ])
    }

    @Test func `the root and unusual names have paths too`() {
        #expect(
            problems(in: "[]") { $0.object().count } == [
                "wrong_type: the document must be an object, not an array"
            ])
        let reported = problems(in: #"{"a b":{"x\"y":[[0]]}}"#) { root in
            for member in root.object().members {
                for inner in member.value.object().members {
                    for list in inner.value.array(countMax: .max) {
                        for leaf in list.array(countMax: .max) { _ = leaf.bool() }
                    }
                }
            }
        }
        #expect(reported == [#"wrong_type: ["a b"]["x\"y"][0][0] must be true or false, not an integer"#])
        let control = problems(in: #"{"a\u001fb":0}"#) { root in
            for member in root.object().members { _ = member.value.bool() }
        }
        #expect(control == [#"wrong_type: ["a\u{1f}b"] must be true or false, not an integer"#])
    }

    @Test func `an integer outside its range is reported with the range`() {
        let reported = problems(in: "[-1, 1.5, 7, 12]") { root in
            var elements = root.array(countMax: .max)
            for _ in 0..<3 { _ = elements.next()?.uint64() }
            _ = elements.next()?.int(in: 0...9)
        }
        #expect(
            reported == [
                "out_of_range: [0] must be from 0 to 18446744073709551615",
                "wrong_type: [1] must be an integer, not a number",
                "out_of_range: [3] must be from 0 to 9",
            ])
    }

    @Test func `a caller can report further problems`() {
        let reported = problems(in: #"{"groupId":"a b"}"#) { root in
            root.object()["groupId"].report("must not contain spaces")
            root.object()["when"].report("is needed by an END", as: .missing)
        }
        #expect(
            reported == ["invalid: groupId must not contain spaces", "missing: when is needed by an END"])
    }

    @Test func `problems beyond the limit are counted`() {
        let text = "[" + Array(repeating: "0", count: 50).joined(separator: ",") + "]"
        do {
            try read(text) { root in for element in root.array(countMax: .max) { _ = element.string() } }
            Issue.record("the document was not refused")
        } catch {
            #expect(error.problems.count == 32 && error.unlistedCount == 18)
            #expect(error.description.hasSuffix("; and 18 more"))
        }
    }

    @Test func `the time for problems beyond the limit does not depend on their positions`() throws {
        let names = (0..<4096).map { "\"n\($0)\":0" }.joined(separator: ",")
        let texts = [
            "[{\(names)}]",
            "[" + String(repeating: "0,", count: 500_000) + "{\(names)}]",
        ]
        for text in texts {
            let bytes = Array(text.utf8)
            let reader = JSONReader()
            let duration = try ContinuousClock().measure {
                let error = try #require(throws: JSONError.self) {
                    try reader.read(bytes) { root in
                        for element in root.array(countMax: .max) where element.kind == .object {
                            element.object().reportUnknownFields()
                        }
                    }
                }
                #expect(error.problems.count == 32 && error.unlistedCount == 4064)
            }
            // The paths of all problems would need two billion steps.
            #expect(duration < .seconds(10), "\(bytes.count)")
        }
    }

    @Test(arguments: [
        (#"{"message":{"contentState":{"a":[1,{"b":1,"b":2}]}}}"#, "message.contentState.a[1].b"),
        (#"{"a":{"b":"\uD800"}}"#, "a.b"),
        (#"{"a":[0,1,1e999]}"#, "a[2]"),
        (#"{"a":1,"b":[true,tru]}"#, "b[1]"),
        ("{\"a\":{\"b\":\"x\u{1}\"}}", "a.b"),
        (#"{"a":{"b":"x}}"#, "a.b"),
        (#"{"a":"#, "a"),
        (#"{"a":1} 2"#, ""),
        (#"{"a":[[[[]]],{"k":x}]}"#, "a[1].k"),
        (#"{"a,b":{"c:d":x}}"#, #"["a,b"]["c:d"]"#),
    ])
    func `a broken document is refused with the path of the fault`(_ text: String, _ path: String) {
        #expect(refusal(of: text)?.path == path)
    }

    @Test func `bytes that are not UTF-8 are refused with path and position`() {
        let bytes = Array(#"{"a":{"b":"é"#.utf8) + [0xC3] + Array(#""}}"#.utf8)
        let problem = refusal(of: bytes)
        #expect(problem?.path == "a.b")
        #expect(problem?.message == "is not UTF-8 at byte 13")
    }

    @Test func `a path stays short for any names`() {
        let name = String(repeating: "n", count: 100_000)
        let text = String(repeating: "{\"\(name)\":", count: 20) + "x"
        let path = refusal(of: text)?.path ?? ""
        #expect((64..<300).contains(path.count) && path.hasSuffix("…"))
        // A short name behind the ellipsis would seem to follow the last name before it.
        let mixed = refusal(of: String(text.dropLast()) + #"{"a":x"#)?.path ?? ""
        #expect(mixed == path)
    }
}
