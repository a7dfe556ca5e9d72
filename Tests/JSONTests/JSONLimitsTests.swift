import Testing

@testable import JSON

/// The limits of depth (32 levels), names (4,096) and size, and the time for large documents. `refusal` returns the
/// reader's first problem, or nil.
struct JSONLimitsTests {
    private func nestedArrays(levels: Int) -> String {
        String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }

    @Test func `thirty-two levels are read and thirty-three are refused`() {
        #expect(refusal(of: nestedArrays(levels: 32)) == nil)
        #expect(refusal(of: nestedArrays(levels: 33))?.code == .tooDeep)
        let objects = String(repeating: "{\"a\":", count: 32) + "1" + String(repeating: "}", count: 32)
        #expect(refusal(of: objects) == nil)
        #expect(refusal(of: "{\"a\":" + objects + "}")?.code == .tooDeep)
        #expect(
            refusal(of: nestedArrays(levels: 3), limits: JSONLimits(bytesMax: 100, depthMax: 2))?.code
                == .tooDeep)
    }

    @Test func `a hundred thousand levels are refused like thirty-three`() {
        #expect(refusal(of: nestedArrays(levels: 100_000))?.code == .tooDeep)
        #expect(refusal(of: String(repeating: "[", count: 100_000))?.code == .tooDeep)
        #expect(refusal(of: String(repeating: "{\"a\":", count: 100_000))?.code == .tooDeep)
    }

    @Test func `names are counted over the whole document`() {
        func document(nameCount: Int) -> String {
            "[" + (0..<nameCount).map { "{\"k\($0)\":0}" }.joined(separator: ",") + "]"
        }
        #expect(refusal(of: document(nameCount: 4_096)) == nil)
        #expect(refusal(of: document(nameCount: 4_097))?.code == .tooManyKeys)
    }

    @Test func `a document with one byte too many is refused before it is parsed`() {
        let limits = JSONLimits(bytesMax: 10)
        #expect(refusal(of: "\"12345678\"", limits: limits) == nil)
        let problem = refusal(of: "\"123456789\"", limits: limits)
        #expect(problem?.code == .tooLarge)
        #expect(problem?.description == "the document has 11 bytes, 10 are allowed")
    }

    @Test func `large documents are read`() throws {
        let elements = 200_000
        let text = "[" + (0..<elements).map { "\"u\($0)\"" }.joined(separator: ",") + "]"
        let last = try read(text) { root in
            var last = ""
            for element in root.array(countMax: .max) { last = element.string() }
            return last
        }
        #expect(last == "u\(elements - 1)")
    }

    @Test func `the slowest documents of a megabyte are answered quickly`() {
        let megabyte = 1 << 20
        let texts = [
            String(repeating: "9", count: megabyte),
            "\"" + String(repeating: "\\u0061", count: megabyte / 6) + "\"",
            "[" + String(repeating: "1,", count: megabyte / 2) + "1]",
            "[" + String(repeating: "\"\\n\",", count: megabyte / 5) + "1]",
            "[" + String(repeating: " ", count: megabyte) + "]",
            "[" + String(repeating: "{},", count: megabyte / 3) + "x]",
            "{" + (0..<4096).map { "\"\(String(repeating: "n", count: 240))\($0)\":0" }.joined(separator: ",")
                + "}",
            String(repeating: "[\"", count: megabyte / 2),
        ]
        let clock = ContinuousClock()
        for text in texts {
            let duration = clock.measure { _ = refusal(of: text) }
            // The benchmark requires 50 ms in release mode. With quadratic time this test would not end.
            #expect(duration < .seconds(20), "\(text.prefix(20))")
        }
    }
}
