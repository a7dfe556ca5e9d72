import ContentSchemas
import Foundation
import JSON
import RecordTesting
import Simulation
import Telemetry
import Testing

// Swift's own decoder, with real types, gives the expected results.

/// A value under the key `x`.
private struct Wrapper<Value: Decodable>: Decodable { let x: Value }

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
private struct TypeCase: Sendable, CustomTestStringConvertible {
    let schema: String
    let decodes: @Sendable (String) -> Bool

    init<Value: Decodable & SendableMetatype>(
        _ schema: String, _ type: Value.Type, _ dates: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
    ) {
        self.schema = schema
        decodes = { text in
            let decoder = JSONDecoder()
            dates(decoder)
            return (try? decoder.decode(Wrapper<Value>.self, from: Data("{\"x\":\(text)}".utf8))) != nil
        }
    }

    var testDescription: String { schema }

    static let unixSeconds: @Sendable (JSONDecoder) -> Void = { $0.dateDecodingStrategy = .secondsSince1970 }
    static let milliseconds: @Sendable (JSONDecoder) -> Void = {
        $0.dateDecodingStrategy = .millisecondsSince1970
    }

    static let all: [TypeCase] = [
        TypeCase("\"int\"", Int.self), TypeCase("\"int8\"", Int8.self), TypeCase("\"int16\"", Int16.self),
        TypeCase("\"int32\"", Int32.self), TypeCase("\"int64\"", Int64.self), TypeCase("\"uint\"", UInt.self),
        TypeCase("\"uint8\"", UInt8.self), TypeCase("\"uint16\"", UInt16.self),
        TypeCase("\"uint32\"", UInt32.self),
        TypeCase("\"uint64\"", UInt64.self), TypeCase("\"double\"", Double.self),
        TypeCase("\"float\"", Float.self),
        TypeCase("\"bool\"", Bool.self), TypeCase("\"string\"", String.self),
        TypeCase("\"string?\"", String?.self),
        TypeCase("\"int?\"", Int?.self), TypeCase("\"url\"", URL.self), TypeCase("\"uuid\"", UUID.self),
        TypeCase("\"data\"", Data.self), TypeCase("\"date.reference2001\"", Date.self),
        TypeCase("\"date.unixSeconds\"", Date.self, unixSeconds),
        TypeCase("\"date.unixMilliseconds\"", Date.self, milliseconds), TypeCase("[\"int\"]", [Int].self),
        TypeCase("[\"int?\"]", [Int?].self), TypeCase("[[\"string\"]]", [[String]].self),
        TypeCase(#"{"$dictionary":"int"}"#, [String: Int].self),
        TypeCase(#"{"$dictionary":"int?"}"#, [String: Int?].self),
        TypeCase(#"{"$dictionary":"string","$keys":"int"}"#, [Int: String].self),
        TypeCase(#"{"$dictionary":"string","$keys":"int8"}"#, [Int8: String].self),
        TypeCase(#"{"$dictionary":"int","$keys":{"$enum":["first","second"]}}"#, [Phase: Int].self),
        TypeCase(#"{"$enum":["first","second"]}"#, Phase.self), TypeCase(#"{"$enum":[1,2]}"#, Half.self),
        TypeCase(#"{"$optional":{"$enum":[1,2]}}"#, Half?.self),
        TypeCase(
            #"{"$cases":{"eta":{"minutes":"int"},"arrived":{},"pair":{"_0":"int","_1":"string?"}}}"#,
            Status.self),
        TypeCase(#"{"$range":"int"}"#, ClosedRange<Int>.self),
        TypeCase(#"{"$range":"int"}"#, Range<Int>.self),
        TypeCase(#"{"$range":"date.reference2001"}"#, ClosedRange<Date>.self),
        TypeCase(#"{"$range":"string"}"#, ClosedRange<String>.self),
        TypeCase(#"{"$range":"float"}"#, Range<Float>.self),
        TypeCase(
            #"{"name":"string","goals":"uint8?","shirts":{"$dictionary":"bool?"}}"#, Team.self),
        TypeCase(#"[{"name":"string","goals":"uint8?","shirts":{"$dictionary":"bool?"}}]"#, [Team].self),
        TypeCase("{}", Nothing.self), TypeCase(#"{"$optional":{}}"#, Nothing?.self),
    ]
}

/// JSON texts at the limits of the rules, and random texts.
private struct JSONTexts {
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
        case 8: return "\"\(letters(of: "ABCDEFabcdef0123456789-", count: 34...38))\""
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

    private mutating func letters(of alphabet: String, count: ClosedRange<Int>) -> String {
        let alphabet = Array(alphabet)
        let length = Int.random(in: count, using: &generator)
        return String((0..<length).map { _ in alphabet[generator.number(below: alphabet.count)] })
    }

    /// Returns text with correct padding or with none. Foundation on Linux also accepts padding that is too
    /// long.
    private mutating func base64Like() -> String {
        let text = letters(of: generator.number(below: 8) == 0 ? "Ab1 -_" : "ABCabc019+/", count: 0...9)
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

/// Whether the schema and Swift's decoder agree about a value.
private func agree(_ typeCase: TypeCase, _ schema: ContentSchema, about text: String) -> Bool {
    guard let value = try? RawJSON(checking: Array("{\"x\":\(text)}".utf8), with: JSONReader()) else {
        return true
    }
    return schema.findings(in: value, now: 1_763_600_000).decodes == typeCase.decodes(text)
}

@Test(arguments: TypeCase.all)
private func `a schema accepts exactly the values that Swift decodes`(_ typeCase: TypeCase) {
    let schema = schema("{\"x\":\(typeCase.schema)}")
    for text in JSONTexts.fixed {
        #expect(agree(typeCase, schema, about: text), "\(text): Swift says \(typeCase.decodes(text))")
    }
    for seed in 0..<trialCount(base: 40) {
        var texts = JSONTexts(generator: SeededGenerator(seed: seed))
        for _ in 0..<25 {
            let text = texts.next()
            guard !agree(typeCase, schema, about: text) else { continue }
            Issue.record("seed \(seed): \(text): Swift says \(typeCase.decodes(text))")
        }
    }
}

@Test func `a missing key fails exactly when Swift fails, with or without a default value`() {
    let schema = schema(#"{"name":"string","goals":"uint8?","shirts":{"$dictionary":"bool?"}}"#)
    for text in ["{}", #"{"name":"A"}"#, #"{"name":"A","shirts":{}}"#, #"{"goals":1,"shirts":{}}"#] {
        let swiftDecodes = (try? JSONDecoder().decode(Team.self, from: Data(text.utf8))) != nil
        #expect(schema.findings(in: raw(text), now: 0).decodes == swiftDecodes, "\(text)")
    }
}

@Test func `an ISO date that a schema accepts decodes in Swift to the same date`() throws {
    let schema = schema(#"{"x":"date.iso8601"}"#)
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    for seed in 0..<trialCount(base: 2_000) {
        var generator = SeededGenerator(seed: seed)
        func twoDigits(below limit: Int) -> String {
            let number = generator.number(below: limit)
            return number < 10 ? "0\(number)" : "\(number)"
        }
        let zone = ["Z", "+01:00", "-09:30", "+14:00", "+15:00", "z", "+0100", ""][generator.number(below: 8)]
        let text =
            "\(1900 + generator.number(below: 300))-\(twoDigits(below: 14))-\(twoDigits(below: 33))T\(twoDigits(below: 25)):\(twoDigits(below: 61)):\(twoDigits(below: 61))\(zone)"
        let value = raw("{\"x\":\"\(text)\"}")
        guard schema.findings(in: value, now: 0).decodes else { continue }
        let decoded = try decoder.decode(Wrapper<Date>.self, from: Data(value.bytes))
        let seconds = Array(text.utf8).withUnsafeBufferPointer { UTCDate.seconds(iso8601: $0) }
        #expect(seconds.map(Double.init) == decoded.x.timeIntervalSince1970, "seed \(seed): \(text)")
    }
    for invalidDate in [
        "2025-02-29T00:00:00Z", "2025-11-20", "2025-11-20T20:00:00", "2025-11-20T20:00:00.Z", "",
    ] {
        #expect(!schema.findings(in: raw("{\"x\":\"\(invalidDate)\"}"), now: 0).decodes, "\(invalidDate)")
    }
    #expect(schema.findings(in: raw(#"{"x":"2024-02-29T23:59:59-14:00"}"#), now: 0).decodes)
}

@Test func `damaged schemas and values never trap`() {
    let originals =
        TypeCase.all.map { Array("{\"x\":\($0.schema)}".utf8) } + JSONTexts.fixed.map { Array($0.utf8) }
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
        guard let schema = try? reader.read(bytes, decode: { ContentSchema(from: $0) }) else { continue }
        var texts = JSONTexts(generator: generator)
        guard let value = try? RawJSON(checking: Array(texts.next().utf8), with: reader) else { continue }
        _ = schema.findings(in: value, now: 0)
    }
}
