import Testing

@testable import JSON

/// The values that a reader returns: their kinds, their lookup by name, and their order.
struct JSONDecodingTests {
    @Test func `fields are found in any order`() throws {
        let values = try read(#"{"b":2,"a":1,"d":4,"c":3}"#) { root in
            let object = root.object()
            return [
                object["a"].int(), object["b"].int(), object["c"].int(), object["d"].int(), object["b"].int(),
            ]
        }
        #expect(values == [1, 2, 3, 4, 2])
    }

    @Test func `an integer of any length is exact, and no other byte may stand between its digits`() throws {
        for length in 1...19 {
            let digits = String("1234567890987654321".prefix(length))
            for (prefix, suffix) in [("", ""), ("[", "]"), ("[ ", " ]"), ("[0,", ",0]"), ("[-", "]")] {
                let text = prefix + digits + suffix
                let value = try read(text) { root in
                    // In an array, the number with the most digits is the one to look at.
                    root.kind == .array
                        ? root.array(countMax: 3).map { $0.int() }.max { $0.magnitude < $1.magnitude }
                        : root.int()
                }
                #expect(value == Int((prefix.hasSuffix("-") ? "-" : "") + digits), "\(text)")
            }
            for position in 0...length {
                for inserted in ["/", ":", "a", "\"", "\u{0}", "-", "+", " 1", "\u{7F}", "é"] {
                    var text = Array(digits.utf8)
                    text.insert(contentsOf: inserted.utf8, at: position)
                    // In front of the digits, these make another valid text.
                    if position == 0, inserted == "-" || inserted == " 1" { continue }
                    #expect(
                        refusal(of: [UInt8(ascii: "[")] + text + [UInt8(ascii: "]")]) != nil,
                        "\(digits), \(position), \(inserted)")
                }
            }
            #expect(refusal(of: "[0\(digits)]") != nil)
        }
    }

    @Test func `the names of a nested object are not found in the outer one`() throws {
        let text = #"{"in":{"x":1,"y":2},"x":3,"more":{"y":5},"y":4}"#
        let values = try read(text) { root in
            let outer = root.object()
            let inner = outer["in"].object()
            return [inner["x"].int(), outer["x"].int(), inner["y"].int(), outer["y"].int()]
        }
        #expect(values == [1, 3, 2, 4])
        #expect(try read(text) { $0.object()["z"].isMissing && $0.object()["in"].object()["in"].isMissing })
    }

    @Test func `null and missing are different`() throws {
        try read(#"{"null":null,"empty":""}"#) { root in
            let object = root.object()
            #expect(object["null"].isNull && !object["null"].isMissing && object["null"].optional == nil)
            #expect(object["none"].isMissing && !object["none"].isNull && object["none"].optional == nil)
            #expect(object["empty"].optional?.string() == "")
        }
    }

    @Test func `numbers keep their value and their kind`() throws {
        let text = "[-9223372036854775808,9223372036854775807,18446744073709551615,0.1,-2.5e3,1e-400,7]"
        try read(text) { root in
            let values = Array(root.array(countMax: .max))
            #expect(values[0].int() == .min && values[1].int() == .max)
            #expect(values[2].uint64() == .max && values[6].uint64() == 7)
            #expect(values[3].double() == 0.1 && values[4].double() == -2500 && values[5].double() == 0)
            #expect(values[2].double() == 18_446_744_073_709_551_615.0 && values[6].double() == 7)
            #expect(
                values.map(\.kind) == [.integer, .integer, .integer, .number, .number, .number, .integer])
        }
    }

    @Test func `strings are unescaped and raw slices are not`() throws {
        let text = #"{"\u006eame":"tab\t quote\" \u00e9 \ud83d\ude00 é","raw": {"k" : [1, "\u0041"]} }"#
        try read(text) { root in
            let object = root.object()
            #expect(object["name"].string() == "tab\t quote\" é 😀 é")
            #expect(object["raw"].rawText == #"{"k" : [1, "\u0041"]}"#)
            #expect(object["name"].rawText == #""tab\t quote\" \u00e9 \ud83d\ude00 é""#)
            #expect(root.rawText == text)
        }
    }

    @Test func `escaped and plain strings can alternate`() throws {
        let count = 100
        let text =
            "[" + (0..<count).map { $0 % 3 == 0 ? #""\n\#($0)""# : "\"\($0)\"" }.joined(separator: ",") + "]"
        let strings = try read(text) { root in root.array(countMax: .max).map { $0.string() } }
        #expect(strings == (0..<count).map { $0 % 3 == 0 ? "\n\($0)" : "\($0)" })
    }

    @Test func `members are returned in order with their names`() throws {
        let pairs = try read(#"{"b":1,"\u0061":[2],"":3}"#) { root in
            root.object().members.map { "\($0.name)=\($0.value.rawText)" }
        }
        #expect(pairs == ["b=1", "a=[2]", "=3"])
    }

    @Test func `a reader can be reused for smaller and larger documents`() throws {
        let reader = JSONReader()
        for length in [1, 5000, 3, 100_000, 0, 70_000] {
            let text = String(repeating: "x", count: length)
            #expect(try reader.read(Array("{\"a\":\"\(text)\"}".utf8)) { $0.object()["a"].string() } == text)
            #expect(throws: JSONError.self) { try reader.read(Array("{".utf8)) { _ in } }
        }
    }

    @Test func `every length around the vector width is read`() throws {
        let reader = JSONReader()
        // The reader looks at blocks of some tens of bytes at once.
        for length in 0...200 {
            let text = String(repeating: "y", count: length)
            #expect(
                try reader.read(Array("[\"\(text)\",1]".utf8)) { Array($0.array(countMax: .max))[0].string() }
                    == text)
            #expect(refusal(of: "[\"\(text)]") != nil)
        }
    }

    @Test func `a value that is used after its document traps`() async {
        await #expect(processExitsWith: .failure) {
            let reader = JSONReader()
            let value = try reader.read(Array("[1]".utf8)) { $0 }
            try reader.read(Array("[2]".utf8)) { _ in }
            _ = value.kind
        }
    }
}
