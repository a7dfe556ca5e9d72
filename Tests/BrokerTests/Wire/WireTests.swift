import Testing

@testable import Broker

/// `WireWriter` and `WireReader`, in both encodings of Kafka: the classic one with fixed lengths, and the compact one
/// with lengths of variable size and tagged fields.
struct WireTests {
    @Test(arguments: WireEncoding.allCases)
    func `every kind of field comes back as it was written`(encoding: WireEncoding) throws {
        // So small that the writer has to grow.
        var writer = WireWriter(capacity: 1, encoding: encoding)
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

        try WireReader.read(writer.copied(), encoding: encoding) { (reader) throws(WireError) in
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

    @Test(arguments: WireEncoding.allCases)
    func `a message and a name that are too long are cut between two characters`(encoding: WireEncoding)
        throws
    {
        var writer = WireWriter(encoding: encoding)
        writer.message(nil)
        writer.message("short")
        // A message has at most 1,024 bytes, and "ö" has two.
        writer.message(String(repeating: "m", count: 1_023) + "größe")
        writer.message(String(repeating: "m", count: 1_022) + "ö")
        writer.message(String(repeating: "m", count: 1_023) + "ö")
        let countBefore = writer.count
        writer.string(String(repeating: "n", count: 32_766) + "ö")
        // The compact encoding keeps all 32,768 bytes behind a length of three bytes. The classic one has a length of
        // two bytes and allows 32,767 bytes, so it cuts the "ö".
        #expect(writer.count - countBefore == (encoding == .compact ? 32_768 + 3 : 32_766 + 2))
        try WireReader.read(writer.copied(), encoding: encoding) { (reader) throws(WireError) in
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

    // Each byte says that another one follows. A number of 32 bits has at most five.
    @Test func `an endless variable-length number is refused`() {
        #expect(throws: WireError.varintTooLong) {
            try WireReader.read([255, 255, 255, 255, 255, 255]) { (reader) throws(WireError) in
                try reader.unsignedVarint()
            }
        }
    }

    // The length -1 stands for null.
    @Test func `a null where the schema wants a string is refused`() {
        #expect(throws: WireError.absentValue) {
            try WireReader.read([255, 255]) { (reader) throws(WireError) in try reader.string() }
        }
    }

    @Test func `a string that is too long for the classic encoding of an answer is refused`() {
        // The length 0x8000 plus one, as a variable-length number.
        let long: [UInt8] = [0x81, 0x80, 0x02] + Array(repeating: UInt8(ascii: "a"), count: 0x8000)
        #expect(throws: WireError.stringTooLong(0x8000)) {
            try WireReader.read(long, encoding: .compact) { (reader) throws(WireError) in try reader.string()
            }
        }
        // Decoding replaces each invalid byte by U+FFFD, which has three bytes.
        let repaired: [UInt8] = [0x7f, 0xff] + Array(repeating: 0xff, count: 0x7fff)
        #expect(throws: WireError.stringTooLong(3 * 0x7fff)) {
            try WireReader.read(repaired) { (reader) throws(WireError) in try reader.string() }
        }
    }
}
