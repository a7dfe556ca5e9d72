import ContentSchemas
import Foundation
import JSON
import RecordTesting
import Simulation
import Telemetry
import Testing

// Swift's own decoder, with real types, gives the expected results.

private struct Held<Value: Decodable>: Decodable { let x: Value }

private enum Phase: String, Codable { case first, second }
private enum Half: Int, Codable {
    case one = 1
    case two
}
private enum Status: Codable {
    case eta(minutes: Int)
    case arrived
    case pair(Int, String?)
}
private struct Team: Codable {
    var name: String
    var goals: UInt8?
    var shirts: [String: Bool?] = [:]
}
private struct Nothing: Codable {}

/// A type, its schema, and the result of Swift's decoder for `{"x": value}`.
private struct Judge: Sendable, CustomTestStringConvertible {
    let schema: String
    let decodes: @Sendable (String) -> Bool

    init<Value: Decodable & SendableMetatype>(
        _ schema: String, _ type: Value.Type, _ dates: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
    ) {
        self.schema = schema
        decodes = { text in
            let decoder = JSONDecoder()
            dates(decoder)
            return (try? decoder.decode(Held<Value>.self, from: Data("{\"x\":\(text)}".utf8))) != nil
        }
    }

    init(missing schema: String, _ decodes: @escaping @Sendable (String) -> Bool) {
        self.schema = schema
        self.decodes = decodes
    }

    var testDescription: String { schema }

    static let unixSeconds: @Sendable (JSONDecoder) -> Void = { $0.dateDecodingStrategy = .secondsSince1970 }
    static let milliseconds: @Sendable (JSONDecoder) -> Void = {
        $0.dateDecodingStrategy = .millisecondsSince1970
    }

    static let all: [Judge] = [
        Judge("\"int\"", Int.self), Judge("\"int8\"", Int8.self), Judge("\"int16\"", Int16.self),
        Judge("\"int32\"", Int32.self), Judge("\"int64\"", Int64.self), Judge("\"uint\"", UInt.self),
        Judge("\"uint8\"", UInt8.self), Judge("\"uint16\"", UInt16.self), Judge("\"uint32\"", UInt32.self),
        Judge("\"uint64\"", UInt64.self), Judge("\"double\"", Double.self), Judge("\"float\"", Float.self),
        Judge("\"bool\"", Bool.self), Judge("\"string\"", String.self), Judge("\"string?\"", String?.self),
        Judge("\"int?\"", Int?.self), Judge("\"url\"", URL.self), Judge("\"uuid\"", UUID.self),
        Judge("\"data\"", Data.self), Judge("\"date.reference2001\"", Date.self),
        Judge("\"date.unixSeconds\"", Date.self, unixSeconds),
        Judge("\"date.unixMilliseconds\"", Date.self, milliseconds), Judge("[\"int\"]", [Int].self),
        Judge("[\"int?\"]", [Int?].self), Judge("[[\"string\"]]", [[String]].self),
        Judge(#"{"$dictionary":"int"}"#, [String: Int].self),
        Judge(#"{"$dictionary":"int?"}"#, [String: Int?].self),
        Judge(#"{"$dictionary":"string","$keys":"int"}"#, [Int: String].self),
        Judge(#"{"$dictionary":"string","$keys":"int8"}"#, [Int8: String].self),
        Judge(#"{"$dictionary":"int","$keys":{"$enum":["first","second"]}}"#, [Phase: Int].self),
        Judge(#"{"$enum":["first","second"]}"#, Phase.self), Judge(#"{"$enum":[1,2]}"#, Half.self),
        Judge(#"{"$optional":{"$enum":[1,2]}}"#, Half?.self),
        Judge(
            #"{"$cases":{"eta":{"minutes":"int"},"arrived":{},"pair":{"_0":"int","_1":"string?"}}}"#,
            Status.self),
        Judge(#"{"$range":"int"}"#, ClosedRange<Int>.self), Judge(#"{"$range":"int"}"#, Range<Int>.self),
        Judge(#"{"$range":"date.reference2001"}"#, ClosedRange<Date>.self),
        Judge(#"{"$range":"string"}"#, ClosedRange<String>.self),
        Judge(#"{"$range":"float"}"#, Range<Float>.self),
        Judge(
            #"{"name":"string","goals":"uint8?","shirts":{"$dictionary":"bool?"}}"#, Team.self),
        Judge(#"[{"name":"string","goals":"uint8?","shirts":{"$dictionary":"bool?"}}]"#, [Team].self),
        Judge("{}", Nothing.self), Judge(#"{"$optional":{}}"#, Nothing?.self),
    ]
}

/// JSON texts at the limits of the rules, and random texts.
private struct Texts {
    var generator: SeededGenerator

    static let fixed: [String] = [
        "null", "true", "false", "0", "-0", "1", "-1", "1.0", "1e3", "1.5", "-0.0", "127", "128", "-128",
        "-129",
        "255", "256", "300", "32767", "32768", "65535", "65536", "2147483647", "2147483648", "-2147483649",
        "4294967295", "4294967296", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "18446744073709551615", "1e18", "1e19", "1e20", "128.0", "2.56e2", "10e-1", "1.0e-1", "1e38", "1e39",
        "3.4028235e38", "3.4028236e38", "1e-50", "1e-400", "1e-310", "1e300", "0e-400", "0.1", "16777217",
        "9007199254740993.0", "1763600000", "1763600000.5", "\"\"", "\"1\"", "\"true\"", "\"first\"",
        "\"third\"",
        "\"First\"", "\"QQ==\"", "\"QQ\"", "\"QR==\"", "\"QUJD\"", "\"Q Q==\"", "\"-_==\"", "\"QQ==\\n\"",
        "\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\"", "\"e621e1f8-c36c-495a-93fc-0c247a3e6e5f\"",
        "\"e621e1f8c36c495a93fc0c247a3e6e5f\"", "\"{E621E1F8-C36C-495A-93FC-0C247A3E6E5F}\"",
        "\"2025-11-20T20:00:00Z\"", "\"arrived\"", "[]", "[null]", "[1]", "[1,2]", "[2,1]", "[1,1]",
        "[1,2,3]",
        "[1,null]", "[1.0,2]", "[\"a\",\"b\"]", "[\"b\",\"a\"]", "[[\"a\"]]", "[[]]", "[\"first\",1]",
        "[\"first\",1,\"second\",2]", "[\"first\"]", "[\"third\",1]", "[1,\"a\",2,\"b\"]", "[200,\"a\"]",
        "{}",
        "{\"1\":2}", "{\"1\":\"a\"}", "{\"+5\":\"a\"}", "{\"05\":\"a\"}", "{\"1.0\":\"a\"}", "{\" 1\":\"a\"}",
        "{\"a\":null}", "{\"a\":1}", "{\"a\":\"1\"}", "{\"9223372036854775808\":\"a\"}",
        "{\"eta\":{\"minutes\":5}}",
        "{\"eta\":{\"minutes\":\"5\"}}", "{\"eta\":{}}", "{\"eta\":5}", "{\"eta\":null}", "{\"arrived\":{}}",
        "{\"arrived\":null}", "{\"arrived\":{\"x\":1}}", "{\"arrived\":{},\"zz\":{}}",
        "{\"arrived\":{},\"eta\":{\"minutes\":5}}", "{\"pair\":{\"_0\":1}}",
        "{\"pair\":{\"_0\":1,\"_1\":null}}",
        "{\"pair\":{\"_1\":\"x\"}}", "{\"name\":\"A\"}", "{\"name\":\"A\",\"shirts\":{}}",
        "{\"name\":\"A\",\"shirts\":{\"red\":null},\"goals\":3}",
        "{\"name\":\"A\",\"shirts\":{\"red\":true},\"goals\":null,\"more\":[1]}",
        "{\"name\":\"A\",\"shirts\":{\"red\":1}}", "{\"name\":null,\"shirts\":{}}",
        "{\"name\":\"A\",\"shirts\":{},\"goals\":256}", "[{\"name\":\"A\",\"shirts\":{}}]",
        "[{\"name\":\"A\",\"shirts\":{}},{}]", "\"mailto:a@b\"", "\"1:b\"", "\":x\"", "\"//\"", "\"a b\"",
        "\"http://x y\"", "\"http://[::1]:80/\"", "\"http://[::1\"", "\"http://a:b\"", "\"http://a:\"",
        "\"%zz\"", "\"ü\"", "\"http://%41\"", "\"http://%4\"", "\"http://a|b\"", "\"http://a/|b\"",
    ]

    mutating func next() -> String { value(depth: 2) }

    private mutating func value(depth: Int) -> String {
        switch generator.number(below: depth > 0 ? 12 : 9) {
        case 0...2: return Self.fixed[generator.number(below: Self.fixed.count)]
        case 3: return String(Int64(bitPattern: generator.next()) >> Int64(generator.number(below: 64)))
        case 4:
            let digits = String(generator.number(below: 1_000_000))
            let sign = ["", "-"][generator.number(below: 2)]
            return "\(sign)\(digits).\(generator.number(below: 3) == 0 ? generator.number(below: 100) : 0)"
        case 5: return "\(generator.number(below: 2_000))e\(generator.number(below: 60) - 25)"
        case 6: return "\"\(urlLike())\""
        case 7: return "\"\(base64Like())\""
        case 8: return "\"\(letters("ABCDEFabcdef0123456789-", 34...38))\""
        case 9, 10:
            return
                "[\((0..<generator.number(below: 4)).map { _ in value(depth: depth - 1) }.joined(separator: ","))]"
        default:
            let names = [
                "name", "goals", "shirts", "eta", "arrived", "pair", "minutes", "_0", "_1", "7", "red",
            ]
            let chosen = Set(
                (0..<generator.number(below: 4)).map { _ in names[generator.number(below: names.count)] }
            )
            .sorted()
            return "{\(chosen.map { "\"\($0)\":\(value(depth: depth - 1))" }.joined(separator: ","))}"
        }
    }

    private mutating func letters(_ alphabet: String, _ count: ClosedRange<Int>) -> String {
        let alphabet = Array(alphabet)
        let length = Int.random(in: count, using: &generator)
        return String((0..<length).map { _ in alphabet[generator.number(below: alphabet.count)] })
    }

    /// Returns text with correct padding or with none. Foundation on Linux also accepts padding that is too
    /// long.
    private mutating func base64Like() -> String {
        let text = letters(generator.number(below: 8) == 0 ? "Ab1 -_" : "ABCabc019+/", 0...9)
        let isPadded = generator.number(below: 3) > 0 && text.count % 4 > 1
        return text + String(repeating: "=", count: isPadded ? 4 - text.count % 4 : 0)
    }

    /// Returns text that consists mostly of characters with a meaning in a URL.
    private mutating func urlLike() -> String {
        let parts = [
            "http:", "x", "//", "/", ":", "@", "?", "#", "[", "]", "80", "%41", "%4", " ", "a-b", ".", "|",
            "+", "é",
        ]
        return (0..<generator.number(below: 7)).map { _ in parts[generator.number(below: parts.count)] }
            .joined()
    }
}

private func agrees(_ judge: Judge, _ schema: ContentSchema, _ text: String) -> Bool {
    guard let value = try? RawJSON(checking: Array("{\"x\":\(text)}".utf8), with: JSONReader()) else {
        return true
    }
    return schema.findings(in: value, now: 1_763_600_000).decodes == judge.decodes(text)
}

@Test(arguments: Judge.all)
private func `a schema accepts exactly the values that Swift decodes`(_ judge: Judge) {
    let schema = schema("{\"x\":\(judge.schema)}")
    for text in Texts.fixed {
        #expect(agrees(judge, schema, text), "\(text): Swift says \(judge.decodes(text))")
    }
    for seed in 0..<trialCount(base: 40) {
        var texts = Texts(generator: SeededGenerator(seed: seed))
        for _ in 0..<25 {
            let text = texts.next()
            guard !agrees(judge, schema, text) else { continue }
            Issue.record("seed \(seed): \(text): Swift says \(judge.decodes(text))")
        }
    }
}

@Test func `a missing key fails exactly when Swift fails, with or without a default value`() {
    let schema = schema(#"{"name":"string","goals":"uint8?","shirts":{"$dictionary":"bool?"}}"#)
    for text in ["{}", #"{"name":"A"}"#, #"{"name":"A","shirts":{}}"#, #"{"goals":1,"shirts":{}}"#] {
        let swift = (try? JSONDecoder().decode(Team.self, from: Data(text.utf8))) != nil
        #expect(schema.findings(in: raw(text), now: 0).decodes == swift, "\(text)")
    }
}

@Test func `an ISO date that a schema accepts decodes in Swift to the same date`() throws {
    let schema = schema(#"{"x":"date.iso8601"}"#)
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    for seed in 0..<trialCount(base: 2_000) {
        var generator = SeededGenerator(seed: seed)
        func two(_ limit: Int) -> String {
            let number = generator.number(below: limit)
            return number < 10 ? "0\(number)" : "\(number)"
        }
        let zone = ["Z", "+01:00", "-09:30", "+14:00", "+15:00", "z", "+0100", ""][generator.number(below: 8)]
        let text =
            "\(1900 + generator.number(below: 300))-\(two(14))-\(two(33))T\(two(25)):\(two(61)):\(two(61))\(zone)"
        let value = raw("{\"x\":\"\(text)\"}")
        guard schema.findings(in: value, now: 0).decodes else { continue }
        let decoded = try decoder.decode(Held<Date>.self, from: Data(value.bytes))
        let ours = Array(text.utf8).withUnsafeBufferPointer { UTCDate.seconds(iso8601: $0) }
        #expect(ours.map(Double.init) == decoded.x.timeIntervalSince1970, "seed \(seed): \(text)")
    }
    for bad in ["2025-02-29T00:00:00Z", "2025-11-20", "2025-11-20T20:00:00", "2025-11-20T20:00:00.Z", ""] {
        #expect(!schema.findings(in: raw("{\"x\":\"\(bad)\"}"), now: 0).decodes, "\(bad)")
    }
    #expect(schema.findings(in: raw(#"{"x":"2024-02-29T23:59:59-14:00"}"#), now: 0).decodes)
}

@Test func `damaged schemas and values never trap`() {
    let originals = Judge.all.map { Array("{\"x\":\($0.schema)}".utf8) } + Texts.fixed.map { Array($0.utf8) }
    for seed in 0..<trialCount(base: 4_000) {
        var generator = SeededGenerator(seed: seed)
        var bytes = originals[generator.number(below: originals.count)]
        for _ in 0..<generator.number(below: 4) where !bytes.isEmpty {
            let index = generator.number(below: bytes.count)
            switch generator.number(below: 3) {
            case 0: bytes[index] = UInt8(generator.number(below: 256))
            case 1: bytes.remove(at: index)
            default: bytes.insert(bytes[generator.number(below: bytes.count)], at: index)
            }
        }
        let reader = JSONReader()
        guard let made = try? reader.read(bytes, decode: { ContentSchema(from: $0) }) else { continue }
        var texts = Texts(generator: generator)
        guard let value = try? RawJSON(checking: Array(texts.next().utf8), with: reader) else { continue }
        _ = made.findings(in: value, now: 0)
    }
}
