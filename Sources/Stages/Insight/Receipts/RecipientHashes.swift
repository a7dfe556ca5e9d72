package import Identifiers

/// The 32-bit hashes of a receipt's recipients, one for each line of its header `to`. By them, the few receipts
/// of a person are found without an index entry for each push. Equal hashes of two recipients only cost an
/// unneeded read.
///
/// A line of `to` (`ReceiptLines`) is the installation, the entry, the recipient and perhaps the system,
/// separated by tabs. The hashes are stored one after another, in big-endian order.
package enum RecipientHashes {
    /// The size of one hash.
    package static let byteCount = 4
    /// The column of the recipient in a line.
    private static let recipientColumn = 2

    /// Appends the hash of the recipient of each line.
    ///
    /// - Parameter app: The app of the receipt. An equal name in another app is another person.
    package static func appendHashes(ofRecipientsIn lines: Span<UInt8>, app: String, to hashes: inout [UInt8])
    {
        let appHash = hash(ofApp: app)
        var column = 0
        var fieldHash = appHash
        var recipientHash: UInt32 = 0
        for index in 0..<lines.count {
            let byte = lines[index]
            let isLineEnd = byte == UInt8(ascii: "\n")
            guard isLineEnd || byte == UInt8(ascii: "\t") else {
                fieldHash = fnvStep(fieldHash, byte: byte)
                continue
            }
            // A line without a recipient gets the hash of its last field.
            if column == recipientColumn || (isLineEnd && column < recipientColumn) {
                recipientHash = fieldHash
            }
            fieldHash = appHash
            column += 1
            if isLineEnd {
                BigEndian.append(recipientHash, to: &hashes)
                column = 0
            }
        }
    }

    package static func hash(of recipient: Recipient, app: String) -> UInt32 {
        fnvHash(of: Array(recipient.text.utf8).span, from: hash(ofApp: app))
    }

    /// Whether the receipt may contain a line of the recipient.
    package static func contains(_ hash: UInt32, in hashes: Span<UInt8>) -> Bool {
        // The wanted hash is turned once, instead of each stored one.
        let wanted = hash.bigEndian
        return unsafe hashes.withUnsafeBytes { stored in
            // The loop has no early exit, so that the compiler compares many hashes at a time.
            var isContained = false
            for index in 0..<stored.count / byteCount {
                let storedHash = unsafe stored.loadUnaligned(
                    fromByteOffset: index * byteCount, as: UInt32.self)
                isContained = storedHash == wanted || isContained
            }
            return isContained
        }
    }

    // MARK: FNV-1a, which suits short texts

    private static let fnvOffsetBasis: UInt32 = 2_166_136_261
    private static let fnvPrime: UInt32 = 16_777_619

    /// Returns the hash with which the hash of each field begins.
    private static func hash(ofApp app: String) -> UInt32 {
        fnvHash(of: Array(app.utf8).span, from: fnvOffsetBasis)
    }

    private static func fnvStep(_ hash: UInt32, byte: UInt8) -> UInt32 {
        (hash ^ UInt32(byte)) &* fnvPrime
    }

    private static func fnvHash(of bytes: Span<UInt8>, from start: UInt32) -> UInt32 {
        var hash = start
        for index in bytes.indices { hash = fnvStep(hash, byte: bytes[index]) }
        return hash
    }
}
