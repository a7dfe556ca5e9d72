/// The address of a send: the user if known, else the installation. All records of one recipient lie in one
/// lane, in order.
@usableFromInline package enum Recipient: Sendable, Hashable {
    case user(String)
    case installation(String)

    @usableFromInline package static func == (a: Recipient, b: Recipient) -> Bool {
        switch (a, b) {
        case (.user(let a), .user(let b)), (.installation(let a), .installation(let b)):
            a.isExactlyEqual(to: b)
        case (.user, .installation), (.installation, .user): false
        }
    }

    /// The beginnings of the texts of users and of installations.
    package static let userPrefix = "u:"
    package static let installationPrefix = "i:"

    /// `u:<user>` or `i:<installation>`, the form in keys and records.
    package var text: String {
        switch self {
        case .user(let id): Self.userPrefix + id
        case .installation(let id): Self.installationPrefix + id
        }
    }

    /// Returns nil if the text is not a recipient. The parser compares bytes, because an id may begin with a
    /// combining mark that Swift would join to the character before it.
    @inlinable
    package init?(text: some StringProtocol) {
        let made = text.utf8.withContiguousStorageIfAvailable { unsafe Recipient(utf8: $0) }
        let recipient =
            unsafe made ?? Array(text.utf8).withUnsafeBufferPointer { unsafe Recipient(utf8: $0) }
        guard let recipient else { return nil }
        self = recipient
    }

    @usableFromInline init?(utf8 bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count > 2, unsafe bytes[1] == UInt8(ascii: ":") else { return nil }
        let name = unsafe UnsafeBufferPointer(rebasing: bytes[2...])
        guard unsafe NameRules.problem(utf8: name) == nil else { return nil }
        let id = unsafe String(decoding: name, as: UTF8.self)
        switch unsafe bytes[0] {
        case UInt8(ascii: "u"): self = .user(id)
        case UInt8(ascii: "i"): self = .installation(id)
        default: return nil
        }
    }
}
