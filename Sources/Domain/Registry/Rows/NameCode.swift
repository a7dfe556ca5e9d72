internal import Cryptography
internal import Identifiers

/// The code of a name in a key: a tag of one byte, and then the name in one of three forms. Most names are
/// UUIDs and take 17 bytes instead of 36. Another short name is its text and a zero byte, which no name
/// contains. A long name is its SHA-256 digest, so that every key fits into the store. The row's value then
/// contains the text. No code is a prefix of another.
///
/// A caller may add an offset to the tag, to distinguish two kinds of names (`RecipientCode`).
enum NameCode {
    /// The limit in bytes. A longer name is stored as its digest.
    static let textBytesMax = 80
    private static let uuidBytes = 16

    enum Tag {
        /// No name, for example an activity without a group.
        static let none: UInt8 = 1
        /// The installation equals its recipient, so it is not stored twice.
        static let recipient: UInt8 = 2
        static let upperUUID: UInt8 = 3
        static let lowerUUID: UInt8 = 4
        static let text: UInt8 = 5
        static let digest: UInt8 = 6
    }

    /// Appends the code of a name. Returns false and appends nothing if the name is invalid.
    static func append(_ name: Span<UInt8>, to key: inout [UInt8], tagOffset: UInt8 = 0) -> Bool {
        guard isValidName(name) else { return false }
        if name.count == UUIDText.characterCount, let (high, low, isUpper) = UUIDText.read(name) {
            key.append((isUpper ? Tag.upperUUID : Tag.lowerUUID) + tagOffset)
            key.append(number: Int64(bitPattern: high), byteCount: 8)
            key.append(number: Int64(bitPattern: low), byteCount: 8)
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

    /// Whether the name has a valid length and no control characters.
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
        case Tag.upperUUID, Tag.lowerUUID: offset += uuidBytes
        case Tag.digest: offset += SHA256.digestBytes
        case Tag.text:
            while key[offset] != 0 { offset += 1 }
            offset += 1
        default: break
        }
    }

    /// Appends the name whose code is at the offset, and moves the offset behind the code. Returns false and
    /// appends nothing if the code does not contain the name: it is a digest or `Tag.recipient`.
    static func read<Sink: ByteSink & ~Copyable>(
        _ key: Span<UInt8>, at offset: inout Int, to text: inout Sink, tagOffset: UInt8 = 0
    ) -> Bool {
        let tag = key[offset] - tagOffset
        offset += 1
        switch tag {
        case Tag.none: return true
        case Tag.upperUUID, Tag.lowerUUID:
            let uuid = key.extracting(offset..<offset + uuidBytes)
            UUIDText.write(uuid, isUpper: tag == Tag.upperUUID, to: &text)
            offset += uuidBytes
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
