internal import Cryptography
internal import LiveActivity

/// A name as a part of a key. Most names are UUIDs and take 17 bytes instead of 36. Other short names are
/// stored as text with a zero byte behind, which no name contains. Long names are stored as a digest, so that
/// every key fits into the store, and the row's value keeps the text. No code is a prefix of another.
enum NameCode {
    /// The length limit in bytes. Longer names are stored as their digest.
    static let textBytesMax = 80

    enum Tag {
        static let none: UInt8 = 1
        /// The installation equals its recipient, so it is not stored twice.
        static let recipient: UInt8 = 2
        static let upperUUID: UInt8 = 3
        static let lowerUUID: UInt8 = 4
        static let text: UInt8 = 5
        static let digest: UInt8 = 6
    }

    /// Appends a name. Returns false and appends nothing if the name is invalid.
    static func append(_ name: Span<UInt8>, to key: inout [UInt8], tagOffset: UInt8 = 0) -> Bool {
        guard isValidName(name) else { return false }
        if name.count == UUIDText.digits, let (high, low, isUpper) = UUIDText.read(name) {
            key.append((isUpper ? Tag.upperUUID : Tag.lowerUUID) + tagOffset)
            key.append(number: Int64(bitPattern: high), bytes: 8)
            key.append(number: Int64(bitPattern: low), bytes: 8)
        } else if name.count <= textBytesMax {
            key.append(Tag.text + tagOffset)
            key.append(name)
            key.append(0)
        } else {
            key.append(Tag.digest + tagOffset)
            key.append(contentsOf: SHA256.digest(of: Array(name)))
        }
        return true
    }

    static func isValidName(_ name: Span<UInt8>) -> Bool {
        guard (1...NameRules.bytesMax).contains(name.count) else { return false }
        for index in name.indices where name[index] < 0x20 || name[index] == 0x7F { return false }
        return true
    }

    /// Moves the offset behind a code.
    static func skip(_ key: Span<UInt8>, at offset: inout Int, tagOffset: UInt8 = 0) {
        let tag = key[offset] - tagOffset
        offset += 1
        switch tag {
        case Tag.upperUUID, Tag.lowerUUID: offset += 16
        case Tag.digest: offset += SHA256.digestBytes
        case Tag.text:
            while key[offset] != 0 { offset += 1 }
            offset += 1
        default: break
        }
    }

    /// Appends the text of the code at the offset and moves the offset behind it. Returns false for a digest
    /// and for a reference to the recipient. Their text is stored elsewhere.
    static func read<Sink: ByteSink & ~Copyable>(
        _ key: Span<UInt8>, at offset: inout Int, to text: inout Sink, tagOffset: UInt8 = 0
    ) -> Bool {
        let tag = key[offset] - tagOffset
        offset += 1
        switch tag {
        case Tag.none: return true
        case Tag.upperUUID, Tag.lowerUUID:
            UUIDText.write(key.extracting(offset..<offset + 16), isUpper: tag == Tag.upperUUID, to: &text)
            offset += 16
            return true
        case Tag.text:
            let start = offset
            while key[offset] != 0 { offset += 1 }
            text.append(key.extracting(start..<offset))
            offset += 1
            return true
        case Tag.digest:
            offset += SHA256.digestBytes
            return false
        default: return false
        }
    }
}

/// The usual text form of a UUID, with digits of one case.
enum UUIDText {
    static let digits = 36

    /// Returns nil for a text that would not read back unchanged.
    static func read(_ text: Span<UInt8>) -> (high: UInt64, low: UInt64, isUpper: Bool)? {
        var words: (UInt64, UInt64) = (0, 0)
        var seen: UInt8 = 0
        var digit = 0
        let values = HexPairs.values
        for index in 0..<digits {
            let byte = text[index]
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let value = values[Int(byte)]
            if value > 15 { return nil }
            if byte > 0x39 { seen |= byte < 0x60 ? 1 : 2 }
            if digit < 16 {
                words.0 = words.0 << 4 | UInt64(value)
            } else {
                words.1 = words.1 << 4 | UInt64(value)
            }
            digit += 1
        }
        return seen == 3 ? nil : (words.0, words.1, seen != 2)
    }

    static func write<Sink: ByteSink & ~Copyable>(
        _ bytes: Span<UInt8>, isUpper: Bool, to text: inout Sink
    ) {
        unsafe text.extend(by: digits) { out in
            let out = UnsafeMutableRawPointer(out)
            unsafe bytes.withUnsafeBytes { bytes in
                func eightDigits(at offset: Int) -> UInt64 {
                    let four = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                    return UInt64(littleEndian: HexPairs.digits(of: four, isUpper: isUpper))
                }
                func put(_ four: UInt64, at offset: Int) {
                    unsafe out.storeBytes(
                        of: UInt32(truncatingIfNeeded: four).littleEndian, toByteOffset: offset,
                        as: UInt32.self)
                }
                let words = (eightDigits(at: 0), eightDigits(at: 4), eightDigits(at: 8), eightDigits(at: 12))
                put(words.0, at: 0)
                put(words.0 >> 32, at: 4)
                put(words.1, at: 9)
                put(words.1 >> 32, at: 14)
                put(words.2, at: 19)
                put(words.2 >> 32, at: 24)
                put(words.3, at: 28)
                put(words.3 >> 32, at: 32)
                for dash in dashes { unsafe out.storeBytes(of: 0x2D, toByteOffset: dash, as: UInt8.self) }
            }
        }
    }

    private static var dashes: StrideTo<Int> { stride(from: 8, to: 24, by: 5) }
}
