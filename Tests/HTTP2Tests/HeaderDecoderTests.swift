import Simulation
import Testing

@testable import HTTP2

/// Header blocks from other sources: the examples of RFC 7541, blocks of nghttp2, and invalid blocks.
@Suite struct HeaderDecoderTests {
    // The examples of appendix C.4: requests in Huffman code.
    @Test func `the RFC's example requests are decoded`() throws {
        let decoder = HeaderDecoder()
        #expect(
            try decoder.read("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff")
                == [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"])
        #expect(
            try decoder.read("8286 84be 5886 a8eb 1064 9cbf") == [
                ":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com",
                "cache-control: no-cache",
            ])
        #expect(
            try decoder.read("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf") == [
                ":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com",
                "custom-key: custom-value",
            ])
    }

    // The examples of appendix C.6: answers with a table of 256 bytes, which evicts fields.
    @Test func `the RFC's example answers are decoded, and its table evicts old fields`() throws {
        let decoder = HeaderDecoder()
        let otherFields = [
            "cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT",
            "location: https://www.example.com",
        ]
        let first =
            "3fe1 01 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e "
            + "919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3"
        #expect(try decoder.read(first) == [":status: 302"] + otherFields)
        #expect(try decoder.read("4883 640e ffc1 c0bf") == [":status: 307"] + otherFields)
        let third =
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d "
            + "d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 "
            + "3d50 07"
        #expect(
            try decoder.read(third) == [
                ":status: 200", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:22 GMT",
                "location: https://www.example.com", "content-encoding: gzip",
                "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            ])
    }

    @Test(
        arguments: [
            ("80", "index 0"), ("be", "an entry that does not exist"), ("4882", "a string that ends early"),
            ("ffffffffff7f", "an endless index"), ("88 3f e1 01", "a size after a field"),
            ("3f e2 1f", "a table larger than this side allows"), ("40 81 ff 81 1f", "padding of eight ones"),
            ("40 84 ffff ffff 00", "the end of a string in a string"), ("40 81 00 00", "padding with a zero"),
            ("7f", "an index that ends early"),
        ])
    func `an invalid header block is reported`(block: String, flaw: String) {
        #expect(throws: HeaderDecoder.InvalidBlock.self, "\(flaw)") { try HeaderDecoder().read(block) }
    }

    @Test func `everything that nghttp2 encodes arrives, in any order and with repetitions`() throws {
        let names: [StaticString] = [
            "a", "apns-id", "retry-after", "server", "x-long-name-that-is-not-known",
        ]
        for seed in 0..<trialCount(base: 50) {
            var random = SeededGenerator(seed: seed)
            let wire = Wire(fragment: [7, 16_384][random.number(below: 2)], keeping: names)
            wire.settle()
            for _ in 0..<30 {
                wire.client.push(body: [])
                wire.settle()
                let fields = (0..<random.number(below: 6)).map { _ in
                    randomField(of: names, using: &random)
                }
                wire.server.answerAll(try ResponseTemplate(status: 200, headers: fields))
                wire.settle()
                let batch = wire.client.outcomes
                let outcome = try #require(batch.outcomes.first, "seed \(seed)")
                let seen = batch.fields(of: outcome).map { "\(text($0.name)!): \(text($0.value)!)" }
                // Longer values are dropped.
                let kept = fields.filter { $0.value.utf8.count <= ClientLimits().keptValueBytesMax }
                #expect(seen == kept.map { "\($0.name): \($0.value)" }, "seed \(seed)")
                wire.client.clearOutcomes()
            }
        }
    }

    /// Returns a field with one of the names, and a value of up to some hundred printable characters.
    private func randomField(of names: [StaticString], using random: inout SeededGenerator) -> HeaderField {
        let count = random.number(below: 3) * random.number(below: 170)
        let characters: [Character] = (0..<count).map { _ in
            // ASCII, or Latin-1, which needs two bytes in UTF-8.
            let firstCharacter = [33, 160][random.number(below: 2)]
            return Character(Unicode.Scalar(UInt32(firstCharacter + random.number(below: 94)))!)
        }
        let value = String(characters)
        return HeaderField(
            name: "\(names[random.number(below: names.count)])", value: value + "\(random.number(below: 3))",
            isIndexed: random.number(below: 3) > 0)
    }

    // An entry counts 32 bytes beside its name and its value. The oldest entries are evicted.
    @Test func `the table behaves like a list`() {
        for seed in 0..<trialCount(base: 30) {
            var random = SeededGenerator(seed: seed)
            let table = HeaderTable()
            var model: [(name: [UInt8], value: [UInt8])] = []
            var limit = HeaderTable.bytesMax
            for _ in 0..<400 {
                if random.number(below: 20) == 0 {
                    limit = [0, 33, 200, 1_000, 4_096][random.number(below: 5)]
                    table.setLimit(to: limit)
                } else {
                    let sizes = [3, 60, 700]
                    let name = bytes(
                        count: random.number(below: sizes[random.number(below: 3)]), using: &random)
                    let value = bytes(
                        count: random.number(below: sizes[random.number(below: 3)] * 2), using: &random)
                    name.withUnsafeBytes { name in
                        value.withUnsafeBytes { table.insert(name: name, value: $0) }
                    }
                    model.insert((name, value), at: 0)
                }
                while model.reduce(0, { $0 + $1.name.count + $1.value.count + 32 }) > limit {
                    model.removeLast()
                }
                #expect(table.count == model.count, "seed \(seed)")
                for (age, entry) in model.enumerated() {
                    let field = table.field(age: age)
                    #expect(
                        Array(field.name) == entry.name && Array(field.value) == entry.value, "seed \(seed)")
                }
            }
        }
    }

    /// Returns random bytes.
    private func bytes(count: Int, using random: inout SeededGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }
}

extension HeaderDecoder {
    struct InvalidBlock: Error {}

    /// Returns the fields of a block in hexadecimal.
    fileprivate func read(_ hexadecimal: String) throws -> [String] {
        let digits = hexadecimal.filter { $0 != " " }.map { UInt8($0.hexDigitValue!) }
        let bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        return try bytes.withUnsafeBytes { block in
            begin(block: block)
            var fields: [String] = []
            while true {
                switch decodeNext() {
                case .end: return fields
                case .invalid: throw InvalidBlock()
                case .field:
                    guard let value = value() else { throw InvalidBlock() }
                    fields.append(
                        "\(String(decoding: name, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))")
                }
            }
        }
    }
}
