internal import Identifiers

/// The code of a recipient in a key: the two bytes of its `RecipientBucket`, then the `NameCode` of its name.
/// The bucket spreads the recipients of a lane evenly, so the walks of two sends can start at different
/// recipients. A recipient that is late in one send is early in another.
enum RecipientCode {
    static let bucketBytes = RecipientBucket.byteCount
    /// The offset in the tag of an installation that is its own recipient. It distinguishes the installation
    /// from a user of the same name.
    static let installationTagOffset: UInt8 = 0x10

    /// Appends the code of a recipient. Returns false if the name is invalid.
    static func append(_ recipient: Recipient, to key: inout [UInt8]) -> Bool {
        switch recipient {
        case .user(let name): append(isUser: true, name: Array(name.utf8).span, to: &key)
        case .installation(let name): append(isUser: false, name: Array(name.utf8).span, to: &key)
        }
    }

    static func append(isUser: Bool, name: Span<UInt8>, to key: inout [UInt8]) -> Bool {
        appendBucket(of: name, to: &key)
        return NameCode.append(name, to: &key, tagOffset: isUser ? 0 : installationTagOffset)
    }

    /// Appends `u:<user>` or `i:<installation>` and moves the offset behind the code. Returns false without
    /// the name if the code contains only its digest.
    static func read<Sink: ByteSink & ~Copyable>(
        _ key: Span<UInt8>, at offset: inout Int, to text: inout Sink
    ) -> Bool {
        offset += bucketBytes
        let isInstallation = key[offset] >= installationTagOffset
        text.append(UInt8(ascii: isInstallation ? "i" : "u"))
        text.append(UInt8(ascii: ":"))
        return NameCode.read(
            key, at: &offset, to: &text, tagOffset: isInstallation ? installationTagOffset : 0)
    }

    /// Returns the end of the code at the start of `part`, which is a part of a key.
    static func end(in part: Span<UInt8>) -> Int {
        var offset = bucketBytes
        let isInstallation = part[offset] >= installationTagOffset
        NameCode.skip(part, at: &offset, tagOffset: isInstallation ? installationTagOffset : 0)
        return offset
    }

    private static func appendBucket(of name: Span<UInt8>, to key: inout [UInt8]) {
        key.append(number: Int64(RecipientBucket.bucket(of: name)), byteCount: bucketBytes)
    }
}
