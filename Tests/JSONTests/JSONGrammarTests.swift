import Testing

@testable import JSON

/// The grammar of RFC 8259: the texts that are accepted, and the reason for each refusal.
struct JSONGrammarTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "-1", "123", "1.5", "1e3", "1E+3", "1e-3", "0.0", "-0.0e-0",
        "\"\"", "{}", "[]", " \t\r\n[ \n] ", "[[]]", "{\"\":0}", "{\"a\":{}}",
        "[{},[],null,true,false,\"\",1]", "9223372036854775807", "-9223372036854775808",
        "18446744073709551615", "1.7976931348623157e308", "1e-400",
        "-0.0000000000000000000000000000000000000000000000000000000000000000000001", #""\u0000""#,
        #""\"\\\/\b\f\n\r\t""#, #""\uD83D\uDE00""#, #""\ud83d\ude00x""#, "\"\u{7F}\"", "\"é€😀\"",
        "\"\u{FEFF}\"", #"["\\"]"#, #"["\\\\","\""]"#, "[1 , 2\t,\n3]", #"{"a":[1,{"b":"c"}],"d":-1e-1}"#,
        #"{"a":1,"A":2,"aa":3," a":4}"#, "\"/\"", "[\"a\" ]", "[ \"a\"]", "{ \"a\" : \"b\" }",
    ])
    func `strict JSON is accepted`(_ text: String) {
        #expect(refusal(of: text) == nil)
    }

    @Test(arguments: [
        "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1,,2]", "[1;2]", "[}", "{]", "{\"a\"}",
        "{\"a\":}", "{\"a\" 1}", "{\"a\":1,}", "{,\"a\":1}", "{\"a\":1 \"b\":2}", "{a:1}", "{1:1}",
        "{null:1}", "{\"a\"::1}", "{\"a\":1:2}", "[\"a\":1]", "{\"a\",1}", "[1:2]", ":", ",", "{[]:1}",
    ])
    func `misplaced brackets, commas and colons are refused`(_ text: String) {
        #expect(refusal(of: text)?.code == .malformed)
    }

    @Test(arguments: [
        "nul", "nulll", "Null", "True", "truex", "true1", "fals", "NaN", "[NaN]", "Infinity", "-Infinity",
        "undefined", "'a'", "// c\n1", "/* c */1", "1//", "#", "\u{C}1", "[1\u{C}]", "1\u{0}", "\u{0}",
        "[\u{1A}]", "\u{A0}1", "\\\"", "[\\\"a\\\"]", "\"a\"b", "\"a\"\"b\"", "[\"a\"1\"b\"]", "1\"a\"",
        "{\"a\"b:1}", "é", "\u{2028}1",
    ])
    func `an invalid word is refused`(_ text: String) {
        #expect(refusal(of: text) != nil)
    }

    @Test(arguments: [
        "-", "+1", "01", "-01", "00", "1.", ".5", "-.5", "1.e3", "1e", "1e+", "1E-", "1e1.5", "0x10", "1_000",
        "1a", "--1", "1-", "1+1", "1.2.3", "[1.]", "[-]", "[- 1]", "2.e+3", "0e", "0.e1", "1eE2", "１",
    ])
    func `a number with an invalid spelling is refused`(_ text: String) {
        #expect(refusal(of: text)?.code == .malformed)
    }

    @Test(arguments: [
        "1e400", "-1e400", "1e999999999999", "18446744073709551616", "-9223372036854775809",
        "123456789012345678901234567890", "[1e309]", String(repeating: "9", count: 2_000_000),
        "0." + String(repeating: "1", count: 200), "1" + String(repeating: "0", count: 400),
    ])
    func `a number beyond 64 bits is refused`(_ text: String) {
        #expect(refusal(of: text)?.code == .numberOutOfRange)
    }

    @Test(arguments: [
        "\"", "\"abc", "[\"abc", "\"\\\"", "\"a\nb\"", "\"a\tb\"", "\"a\u{0}\"", "\"\u{1F}\"", #""\a""#,
        #""\x41""#, #""\u12""#, #""\u12G4""#, #""\u""#, #""\U0041""#, #""\ ""#, #""\'""#, #"["\u00e"]"#,
        #""\0""#, #""\uD800""#, #""\uDC00""#, #""\uD800\uD800""#, #""\uD800x""#, #""\uD83D\n""#,
        #""\uDE00\uD83D""#, #""\uD83D\u00""#, #"{"\uD800":1}"#, #""\ud83d\\ude00""#,
    ])
    func `an invalid string is refused`(_ text: String) {
        #expect(refusal(of: text)?.code == .malformed)
    }

    @Test(arguments: [
        [0x22, 0xC0, 0x80, 0x22], [0x22, 0xC1, 0xBF, 0x22], [0x22, 0xE0, 0x80, 0xAF, 0x22],
        [0x22, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22],
        [0x22, 0xF0, 0x80, 0x80, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22], [0x22, 0xFF, 0x22],
        [0x22, 0xC3, 0x22], [0xEF, 0xBB, 0xBF, 0x31], [0xFE, 0xFF, 0, 0x31], [0xFF, 0xFE, 0x31, 0],
        [0x31, 0, 0x32, 0], [0, 0x5B, 0, 0x5D], [0x5B, 0x22, 0xF8, 0x88, 0x80, 0x80, 0x80, 0x22, 0x5D],
    ])
    func `bytes that are not UTF-8 are refused with that reason`(_ bytes: [UInt8]) {
        #expect(refusal(of: bytes)?.code == .notUTF8)
    }

    @Test(arguments: ["", " ", "\n\t "])
    func `a text without a value is refused as empty`(_ text: String) {
        #expect(refusal(of: text)?.code == .empty)
    }

    @Test(arguments: ["1 2", "{}{}", "[] []", "null,", "{}]", "\"a\" \"b\"", "{} x", "true false"])
    func `anything after the value is refused`(_ text: String) {
        #expect(refusal(of: text)?.code == .malformed)
    }

    @Test(arguments: [
        #"{"a":1,"a":1}"#, #"{"a":1,"\u0061":2}"#, #"{"":1,"":2}"#, #"[{"x":{"b":1,"c":2,"b":3}}]"#,
        #"{"a/b":1,"a\/b":2}"#, #"{"é":1,"\u00e9":2}"#, #"{"😀":1,"\ud83d\ude00":2}"#,
        #"{"a":{"a":1},"b":2,"a":3}"#, #"{"longer than eight":1,"longer than eight":2}"#,
    ])
    func `a duplicate name in an object is refused, however it is escaped`(_ text: String) {
        #expect(refusal(of: text)?.code == .duplicateKey)
    }

    @Test func `a duplicate name among thousands is found`() {
        for (first, second) in [(0, 3000), (10, 20), (31, 32), (2999, 3000), (33, 2000)] {
            var names = (0...3000).map { "name\($0)" }
            names[second] = names[first]
            let text = "{" + names.map { "\"\($0)\":0" }.joined(separator: ",") + "}"
            #expect(refusal(of: text)?.code == .duplicateKey)
            #expect(refusal(of: text)?.path == names[first])
        }
        let distinct = "{" + (0...3000).map { "\"name\($0)\":0" }.joined(separator: ",") + "}"
        #expect(refusal(of: distinct) == nil)
    }

    @Test func `a NUL does not end a name`() {
        #expect(refusal(of: #"{"a\u0000b":1,"a\u0000c":2}"#) == nil)
        #expect(refusal(of: #"{"a\u0000b":1,"a\u0000b":2}"#)?.code == .duplicateKey)
    }
}
