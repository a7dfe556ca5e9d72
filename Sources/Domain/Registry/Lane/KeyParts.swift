internal import Identifiers
internal import InstallationRecords

/// The parts of a key of the topic `registry`, as byte ranges, so that no text is allocated for a part. Such
/// a key is `<app>/<recipient>/<installation>/<entry>`, for example `shop/u:ada/i-7/update:match-1`. The
/// ranges point into the key itself. If names are escaped or not ASCII, they point into a decoded copy.
struct KeyParts {
    private(set) var app = 0..<0
    /// The recipient's name without the prefix `u:` for a user or `i:` for an installation.
    private(set) var recipient = 0..<0
    private(set) var isUser = false
    /// Empty in the profile of a user.
    private(set) var installation = 0..<0
    private(set) var kind = RowKind.profile
    /// For a start the type, empty if it serves every type. For an update the activity.
    private(set) var name = 0..<0

    private static let startPrefix = Array("start:".utf8)
    private static let updatePrefix = Array("update:".utf8)
    private static let profileName = Array("profile".utf8)

    /// Reads a key of printable ASCII without escapes, as nearly all keys are. Returns nil for any other key,
    /// which may still be valid: `RegistryKey` decides.
    init?(plain key: Span<UInt8>) {
        var slashes = (0, 0, 0)
        var slashCount = 0
        for index in key.indices {
            let byte = key[index]
            guard (0x20..<0x7F).contains(byte), byte != UInt8(ascii: "%") else { return nil }
            guard byte == UInt8(ascii: "/") else { continue }
            switch slashCount {
            case 0: slashes.0 = index
            case 1: slashes.1 = index
            case 2: slashes.2 = index
            default: return nil
            }
            slashCount += 1
        }
        guard slashCount == 3, slashes.0 > 0, slashes.0 <= AppIDRules.bytesMax else { return nil }
        app = 0..<slashes.0
        for index in app where !Self.isAppIDByte(key[index]) { return nil }
        let recipientStart = slashes.0 + 1
        let nameStart = recipientStart + 2
        guard nameStart < slashes.1, key[recipientStart + 1] == UInt8(ascii: ":") else { return nil }
        switch key[recipientStart] {
        case UInt8(ascii: "u"): isUser = true
        case UInt8(ascii: "i"): isUser = false
        default: return nil
        }
        recipient = nameStart..<slashes.1
        installation = slashes.1 + 1..<slashes.2
        guard recipient.count <= NameRules.bytesMax else { return nil }
        let entryStart = slashes.2 + 1
        let entry = key.extracting(entryStart..<key.count)
        if entry.hasPrefix(Self.startPrefix.span) {
            kind = .start
            name = entryStart + Self.startPrefix.count..<key.count
        } else if entry.hasPrefix(Self.updatePrefix.span), entry.count > Self.updatePrefix.count {
            kind = .update
            name = entryStart + Self.updatePrefix.count..<key.count
        } else if !entry.equals(Self.profileName.span) {
            return nil
        }
        guard !installation.isEmpty || kind == .profile else { return nil }
    }

    /// Appends the decoded parts of a key to `text`, to which the ranges then refer.
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

    /// Whether the row's key contains a name as a digest, so that the row's value must contain the full key.
    var hasLongNames: Bool {
        recipient.count > NameCode.textBytesMax || installation.count > NameCode.textBytesMax
            || kind == .update && name.count > NameCode.textBytesMax
    }

    /// Whether a byte of an app id is accepted here. An id with a dot is not, because `.` and `..` are
    /// invalid ids: `RegistryKey` decides.
    private static func isAppIDByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
