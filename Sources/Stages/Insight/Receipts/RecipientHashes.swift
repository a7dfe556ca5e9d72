package import Identifiers

/// A 32-bit hash of the recipient for each line of a receipt. With these marks, the few receipts of a person
/// are found without an index entry for each push. Equal marks of two recipients only cost an unneeded read.
package enum RecipientHashes {
    /// The bytes of one mark.
    package static let bytes = 4

    /// Appends a mark for each line of the header `to`.
    ///
    /// - Parameter app: The app of the receipt. An equal name in another app is another person.
    package static func append(of lines: Span<UInt8>, app: String, to marks: inout [UInt8]) {
        let seed = fnvHash(of: Array(app.utf8).span, from: fnvOffsetBasis)
        var recipient: UInt32 = 0
        var column = 0
        var value = seed
        for index in 0..<lines.count {
            let byte = lines[index]
            if byte == UInt8(ascii: "\t") {
                if column == 2 { recipient = value }
                column += 1
                value = seed
            } else if byte == UInt8(ascii: "\n") {
                BigEndian.append(column > 2 ? recipient : value, to: &marks)
                column = 0
                value = seed
            } else {
                value = fnvStep(value, byte: byte)
            }
        }
    }

    package static func hash(of recipient: Recipient, app: String) -> UInt32 {
        fnvHash(
            of: Array(recipient.text.utf8).span, from: fnvHash(of: Array(app.utf8).span, from: fnvOffsetBasis)
        )
    }

    /// Whether the receipt may contain a line of the recipient.
    package static func contains(_ mark: UInt32, in marks: Span<UInt8>) -> Bool {
        let wanted = mark.bigEndian
        return unsafe marks.withUnsafeBytes { bytes in
            // The loop has no early exit, so that the compiler compares many marks at a time.
            var found = false
            for index in 0..<bytes.count / 4 {
                let number = unsafe bytes.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)
                found = number == wanted || found
            }
            return found
        }
    }

    // FNV-1a, which suits short texts.
    private static let fnvOffsetBasis: UInt32 = 2_166_136_261

    private static func fnvStep(_ value: UInt32, byte: UInt8) -> UInt32 {
        (value ^ UInt32(byte)) &* 16_777_619
    }

    private static func fnvHash(of bytes: Span<UInt8>, from start: UInt32) -> UInt32 {
        var value = start
        for index in bytes.indices { value = fnvStep(value, byte: bytes[index]) }
        return value
    }
}
