internal import Identifiers

/// The code of a recipient in a key: the two bytes of its `RecipientBucket`, then the `NameCode` of its name.
/// The bucket spreads the recipients of a lane evenly, so the walks of two sends can start at different
/// recipients. A recipient that is late in one send is early in another.
enum RecipientCode {
    static let bucketBytes = RecipientBucket.byteCount
    /// Added to the tag of the `NameCode` if the recipient is an installation, so that its code differs from the code of
    /// a user of the same name.
    private static let installationTagOffset: UInt8 = 0x10

    /// Appends the code of a recipient. Returns false if the name is invalid. The key is then useless.
    static func append(_ recipient: Recipient, to key: inout [UInt8]) -> Bool {
        switch recipient {
        case .user(let name): append(isUser: true, name: Array(name.utf8).span, to: &key)
        case .installation(let name): append(isUser: false, name: Array(name.utf8).span, to: &key)
        }
    }

    /// Appends the code of a user or an installation like `append(_:to:)`.
    static func append(isUser: Bool, name: Span<UInt8>, to key: inout [UInt8]) -> Bool {
        key.append(number: Int64(RecipientBucket.bucket(of: name)), byteCount: bucketBytes)
        return NameCode.append(name, to: &key, tagOffset: isUser ? 0 : installationTagOffset)
    }

    /// Appends `u:<user>` or `i:<installation>` and moves the offset behind the code. Returns false if the name is too
    /// long for a key, which has its digest instead. Then only `u:` or `i:` is appended.
    static func read<Sink: ByteSink & ~Copyable>(
        _ key: Span<UInt8>, at offset: inout Int, to text: inout Sink
    ) -> Bool {
        offset += bucketBytes
        let tagOffset = tagOffset(of: key[offset])
        text.append(UInt8(ascii: tagOffset == 0 ? "u" : "i"))
        text.append(UInt8(ascii: ":"))
        return NameCode.read(key, at: &offset, to: &text, tagOffset: tagOffset)
    }

    /// Returns the length of the code with which the bytes begin.
    static func length(atStartOf bytes: Span<UInt8>) -> Int {
        var offset = bucketBytes
        NameCode.skip(bytes, at: &offset, tagOffset: tagOffset(of: bytes[offset]))
        return offset
    }

    /// Returns the offset that a stored tag contains: 0 for a user.
    private static func tagOffset(of tag: UInt8) -> UInt8 {
        tag >= installationTagOffset ? installationTagOffset : 0
    }
}
