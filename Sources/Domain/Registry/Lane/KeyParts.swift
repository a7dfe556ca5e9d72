internal import LiveActivity

/// The parts of a record's key as ranges, without a text for each part. The ranges point into the key itself.
/// If names are escaped or not ASCII, they point into a copy that `RegistryKey` decoded.
struct KeyParts {
    private(set) var app = 0..<0
    /// The name, without the prefix for a user or an installation.
    private(set) var recipient = 0..<0
    private(set) var isUser = false
    /// Empty in the profile of a user.
    private(set) var installation = 0..<0
    private(set) var kind = RowKind.profile
    /// The type of a start, empty if it serves every type. The activity of an update.
    private(set) var name = 0..<0

    /// Returns nil for an unusual key, which may still be valid.
    init?(plain key: Span<UInt8>) {
        var slashes = (0, 0, 0)
        var count = 0
        for index in key.indices {
            let byte = key[index]
            guard (0x20..<0x7F).contains(byte), byte != UInt8(ascii: "%") else { return nil }
            guard byte == UInt8(ascii: "/") else { continue }
            switch count {
            case 0: slashes.0 = index
            case 1: slashes.1 = index
            case 2: slashes.2 = index
            default: return nil
            }
            count += 1
        }
        guard count == 3, slashes.0 > 0, slashes.0 <= AppIDRules.bytesMax else { return nil }
        app = 0..<slashes.0
        for index in app where !Self.isAppIDByte(key[index]) { return nil }
        let first = slashes.0 + 1
        guard first + 2 < slashes.1, key[first + 1] == UInt8(ascii: ":") else { return nil }
        switch key[first] {
        case UInt8(ascii: "u"): isUser = true
        case UInt8(ascii: "i"): isUser = false
        default: return nil
        }
        recipient = first + 2..<slashes.1
        installation = slashes.1 + 1..<slashes.2
        guard recipient.count <= NameRules.bytesMax else { return nil }
        let entry = key.extracting(slashes.2 + 1..<key.count)
        if entry.hasPrefix(Self.startPrefix.span) {
            kind = .start
            name = slashes.2 + 1 + Self.startPrefix.count..<key.count
        } else if entry.hasPrefix(Self.updatePrefix.span), entry.count > Self.updatePrefix.count {
            kind = .update
            name = slashes.2 + 1 + Self.updatePrefix.count..<key.count
        } else if !entry.equals(Self.profileName.span) {
            return nil
        }
        guard !installation.isEmpty || kind == .profile else { return nil }
    }

    /// Appends the parts of a key to `text`.
    init(_ key: RegistryKey, in text: inout [UInt8]) {
        func append(_ part: String) -> Range<Int> {
            let start = text.count
            text.append(contentsOf: part.utf8)
            return start..<text.count
        }
        app = append(key.app)
        switch key.recipient {
        case .user(let name): (isUser, recipient) = (true, append(name))
        case .installation(let name): recipient = append(name)
        }
        installation = append(key.installation ?? "")
        switch key.entry {
        case .start(let type): (kind, name) = (.start, append(type ?? ""))
        case .update(let activity): (kind, name) = (.update, append(activity))
        case .profile: kind = .profile
        }
    }

    /// Whether the row's own key contains a digest, so that the full text must be stored in the value.
    var hasLongNames: Bool {
        recipient.count > NameCode.textBytesMax || installation.count > NameCode.textBytesMax
            || kind == .update && name.count > NameCode.textBytesMax
    }

    /// Whether the byte is allowed in an app id here. The ids `.` and `..` are invalid. Any id with a dot
    /// takes the slow path.
    private static func isAppIDByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == 0x5F || byte == 0x2D
    }

    private static let startPrefix = Array("start:".utf8)
    private static let updatePrefix = Array("update:".utf8)
    private static let profileName = Array("profile".utf8)
}
