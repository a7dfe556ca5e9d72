import Simulation
import Testing

@testable import JSON

/// The texts that the writer makes.
struct JSONWriterTests {
    /// Returns the text that a writer makes. Its first buffer is so small that it must grow.
    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(capacity: 1)
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `values, names and commas are in the right places`() {
        let text = written { json in
            json.beginObject()
            json.name("a")
            json.value(1)
            json.name("list")
            json.beginArray()
            json.value(true)
            json.null()
            json.beginObject()
            json.endObject()
            json.beginArray()
            json.endArray()
            json.value("text" as StaticString)
            json.endArray()
            json.name("dyn" + "amic")
            json.value(-2.5)
            json.endObject()
        }
        #expect(text == #"{"a":1,"list":[true,null,{},[],"text"],"dynamic":-2.5}"#)
        #expect(refusal(of: text) == nil)
    }

    @Test func `integers are exact`() {
        let text = written { json in
            json.beginArray()
            for value in [0, 9, 10, 99, 100, -1, Int.max, Int.min] { json.value(value) }
            json.value(UInt64.max)
            json.value(10_000_000_000_000_000_000 as UInt64)
            json.endArray()
        }
        #expect(
            text
                == "[0,9,10,99,100,-1,9223372036854775807,-9223372036854775808,18446744073709551615,10000000000000000000]"
        )
    }

    @Test func `an integer of any length has exactly its digits`() {
        var power: UInt64 = 1
        for _ in 0..<20 {
            for value in [power - 1, power, power + 1, power / 9 * 8] {
                #expect(written { $0.value(value) } == String(value))
            }
            power = power.multipliedReportingOverflow(by: 10).partialValue
        }
    }

    @Test func `doubles read back as the same bits`() throws {
        var random = SeededGenerator(seed: 7)
        var values = [
            0, -0.0, 0.1, 1, 1e15, 1e19, 1e20, 1e21, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            .leastNormalMagnitude, -1.5e-7, 1e300,
        ]
        while values.count < 5000 {
            let value = Double(bitPattern: random.next())
            if value.isFinite { values.append(value) }
        }
        let text = written { json in
            json.beginArray()
            for value in values { json.value(value) }
            json.endArray()
        }
        let back = try read(text) { root in root.array(countMax: .max).map { $0.double() } }
        for (value, copy) in zip(values, back) where value.bitPattern != copy.bitPattern {
            Issue.record("\(value) became \(copy)")
        }
        #expect(back.count == values.count)
        #expect(written { $0.value(Double.infinity) } == "null" && written { $0.value(Double.nan) } == "null")
    }

    @Test func `every character reads back at every position of a block`() throws {
        for length in 0..<40 {
            for scalar in (0..<0x80).map({ Unicode.Scalar($0)! }) + ["é", "€", "😀", "\u{2028}"] {
                var string = String(repeating: "a", count: length)
                string.unicodeScalars.append(scalar)
                string += "end"
                let text = written { $0.value(string) }
                #expect(try read(text) { $0.string() } == string)
            }
        }
    }

    @Test func `control characters get the shortest escape`() {
        #expect(
            written { $0.value("\u{0}\u{1F}\u{8}\t\n\u{C}\r\"\\/\u{7F}") }
                == #""\u0000\u001f\b\t\n\f\r\"\\/"# + "\u{7F}\"")
    }

    @Test func `invalid bytes become a valid string`() {
        let bytes: [UInt8] = [0x61, 0xFF, 0x62, 0xC3, 0xA9, 0xED, 0xA0, 0x80]
        let text = written { json in bytes.withUnsafeBytes { json.value(utf8: $0) } }
        #expect(refusal(of: text) == nil)
        #expect(text.hasPrefix("\"a\u{FFFD}bé"))
    }

    @Test func `a raw value passes through byte for byte`() throws {
        let state = #"{ "score" : "1:0",  "n":1.0e0, "u":"\u0041" }"#
        let reader = JSONReader()
        var writer = JSONWriter()
        try reader.read(Array(#"{"contentState":\#(state)}"#.utf8)) { root in
            writer.beginObject()
            writer.name("content-state")
            writer.raw(root.object()["contentState"].raw)
            writer.endObject()
        }
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #"{"content-state":\#(state)}"#)
    }

    @Test func `a writer can be reused`() {
        var writer = JSONWriter(capacity: 4)
        for text in ["a", String(repeating: "b", count: 1000), ""] {
            writer.removeAll()
            writer.value(text)
            #expect(String(decoding: writer.bytes, as: UTF8.self) == "\"\(text)\"")
        }
    }
}
