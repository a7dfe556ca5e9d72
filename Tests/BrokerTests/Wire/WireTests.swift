import Testing

@testable import Broker

/// One request header and a field of each kind, in both encodings.
struct WireTests {
    @Test(arguments: [false, true])
    func `every kind of field comes back as it was written`(flexible: Bool) throws {
        var writer = WireWriter(capacity: 1, flexible: flexible)
        writer.int8(-1)
        writer.int16(-2)
        writer.int32(-3)
        writer.int64(.min)
        writer.bool(true)
        writer.uuid(TopicID(high: 1, low: .max))
        writer.nullableString(nil)
        writer.string("größe")
        writer.nullableBytes(nil)
        writer.bytes([1, 2, 3])
        writer.array(["a", ""]) { $0.string($1) }
        writer.nullArray()
        for value in [0, 127, 128, UInt32.max] { writer.unsignedVarint(value) }
        writer.emptyTags()

        try WireReader.read(writer.copied(), flexible: flexible) { (reader) throws(WireError) in
            #expect(try reader.int8() == -1)
            #expect(try reader.int16() == -2)
            #expect(try reader.int32() == -3)
            #expect(try reader.int64() == .min)
            #expect(try reader.bool())
            #expect(try reader.uuid() == TopicID(high: 1, low: .max))
            #expect(try reader.nullableString() == nil)
            #expect(try reader.string() == "größe")
            #expect(try reader.nullableBytes() == nil)
            #expect(try reader.bytes() == [1, 2, 3])
            #expect(try reader.array { (reader) throws(WireError) in try reader.string() } == ["a", ""])
            #expect(try reader.nullableArray { (reader) throws(WireError) in try reader.string() } == nil)
            for value in [0, 127, 128, UInt32.max] { #expect(try reader.unsignedVarint() == value) }
            try reader.skipTags()
            #expect(reader.remaining == 0)
        }
    }

    @Test(arguments: [false, true])
    func `a message is cut between two characters, and a name where the encoding ends`(flexible: Bool) throws
    {
        var writer = WireWriter(flexible: flexible)
        writer.message(nil)
        writer.message("short")
        writer.message(String(repeating: "m", count: 1_023) + "größe")
        writer.message(String(repeating: "m", count: 1_022) + "ö")
        writer.message(String(repeating: "m", count: 1_023) + "ö")
        let before = writer.count
        writer.string(String(repeating: "n", count: 32_766) + "ö")
        #expect(writer.count - before == (flexible ? 32_768 + 3 : 32_766 + 2))
        try WireReader.read(writer.copied(), flexible: flexible) { (reader) throws(WireError) in
            #expect(try reader.nullableString() == nil)
            #expect(try reader.string() == "short")
            #expect(try reader.string() == String(repeating: "m", count: 1_023) + "g")
            #expect(try reader.string() == String(repeating: "m", count: 1_022) + "ö")
            #expect(try reader.string() == String(repeating: "m", count: 1_023))
        }
    }

    @Test func `an array that claims more elements than bytes is refused before it is made`() {
        #expect(throws: WireError.tooManyElements(0x7fff_ffff)) {
            try WireReader.read([0x7f, 0xff, 0xff, 0xff, 0]) { (reader) throws(WireError) in
                try reader.array { (reader) throws(WireError) in try reader.int8() }
            }
        }
    }

    @Test func `an endless variable-length number is refused`() {
        #expect(throws: WireError.varintTooLong) {
            try WireReader.read([255, 255, 255, 255, 255, 255]) { (reader) throws(WireError) in
                try reader.unsignedVarint()
            }
        }
    }

    @Test func `a null where the schema wants a string is refused`() {
        #expect(throws: WireError.absentValue) {
            try WireReader.read([255, 255]) { (reader) throws(WireError) in try reader.string() }
        }
    }

    @Test func `a string that no classic encoding could send back is refused`() {
        let long: [UInt8] = [0x81, 0x80, 0x02] + Array(repeating: 0x61, count: 0x8000)
        #expect(throws: WireError.stringTooLong(0x8000)) {
            try WireReader.read(long, flexible: true) { (reader) throws(WireError) in try reader.string() }
        }
        let repaired: [UInt8] = [0x7f, 0xff] + Array(repeating: 0xff, count: 0x7fff)
        #expect(throws: WireError.stringTooLong(3 * 0x7fff)) {
            try WireReader.read(repaired) { (reader) throws(WireError) in try reader.string() }
        }
    }
}
