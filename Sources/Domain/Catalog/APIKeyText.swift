package import CatalogRecords
internal import Cryptography

/// The text of an API key: `flotilla_<role>_<id>_<secret><checksum>`. The parts are letters and digits.
///
/// The prefix identifies a key for people and for scanners of leaked keys. The checksum shows, before any
/// lookup, that the key is complete. The role in the text is only informative. The role in the catalog
/// decides.
package struct APIKeyText: Sendable {
    package static let idCharacterCount = 12
    /// 43 characters with 62 values each have 256 bits.
    static let secretCharacterCount = 43
    /// Six characters with 62 values each are enough for the 32 bits of a CRC-32.
    static let checksumCharacterCount = 6
    private static let prefix = "flotilla_"

    package let id: String
    package let secretHash: [UInt8]

    /// The parts of the text between underscores: prefix, role, id, and secret with checksum.
    private static let partCount = 4

    /// Returns nil if the text cannot be a key.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        // One split more than needed, so that a further part is noticed.
        let parts = bytes.split(
            separator: UInt8(ascii: "_"), maxSplits: Self.partCount, omittingEmptySubsequences: false)
        guard parts.count == Self.partCount, parts[0].elementsEqual(Self.prefix.utf8.dropLast()) else {
            return nil
        }
        let (idPart, secretPart) = (parts[2], parts[3])
        guard idPart.count == Self.idCharacterCount,
            secretPart.count == Self.secretCharacterCount + Self.checksumCharacterCount,
            (idPart + secretPart).allSatisfy(Base62.isDigit)
        else { return nil }
        let checkedBytes = bytes.dropLast(Self.checksumCharacterCount)
        let checksum = bytes.suffix(Self.checksumCharacterCount)
        guard checksum.elementsEqual(Self.checksum(of: checkedBytes)) else { return nil }
        id = String(decoding: idPart, as: UTF8.self)
        secretHash = SHA256.digest(of: Array(secretPart.prefix(Self.secretCharacterCount)))
    }

    /// Makes a new key. Its text is shown once and not stored. Its record goes into the catalog.
    package static func makeKey(
        app: String, role: APIKey.Role, atMilliseconds now: Int64
    ) -> (text: String, record: APIKey) {
        let id = Base62.random(count: idCharacterCount)
        let secret = Base62.random(count: secretCharacterCount)
        var text = Array("\(prefix)\(role.rawValue)_".utf8) + id + [UInt8(ascii: "_")] + secret
        text += checksum(of: text[...])
        let record = APIKey(
            id: String(decoding: id, as: UTF8.self), app: app, role: role,
            secretHash: SHA256.digest(of: secret), createdAt: now)
        return (String(decoding: text, as: UTF8.self), record)
    }

    private static func checksum(of bytes: ArraySlice<UInt8>) -> [UInt8] {
        Base62.encode(CRC32.checksum(of: bytes), digits: checksumCharacterCount)
    }
}
