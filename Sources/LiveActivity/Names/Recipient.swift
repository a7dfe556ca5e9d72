/// Whom a send addresses: the user where one is known, else the installation. Everything about one
/// recipient stays in one lane, in order.
@usableFromInline package enum Recipient: Sendable, Hashable {
    case user(String)
    case installation(String)

    @usableFromInline package static func == (a: Recipient, b: Recipient) -> Bool {
        switch (a, b) {
        case (.user(let a), .user(let b)), (.installation(let a), .installation(let b)): a.isExactly(b)
        case (.user, .installation), (.installation, .user): false
        }
    }

    /// `u:<user>` or `i:<installation>`, as keys and records have it.
    package var text: String {
        switch self {
        case .user(let id): "u:" + id
        case .installation(let id): "i:" + id
        }
    }

    /// Nil for what is no recipient. It goes by bytes: an id may begin with what Swift sees as a part of
    /// the character before it, an accent or the tone of an emoji.
    package init?(text: some StringProtocol) {
        let made = text.utf8.withContiguousStorageIfAvailable { unsafe Recipient(utf8: $0) }
        let recipient =
            unsafe made ?? Array(text.utf8).withUnsafeBufferPointer { unsafe Recipient(utf8: $0) }
        guard let recipient else { return nil }
        self = recipient
    }

    init?(utf8 bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count > 2, unsafe bytes[1] == UInt8(ascii: ":") else { return nil }
        let name = unsafe UnsafeBufferPointer(rebasing: bytes[2...])
        guard unsafe Name.problem(utf8: name) == nil else { return nil }
        let id = unsafe String(decoding: name, as: UTF8.self)
        switch unsafe bytes[0] {
        case UInt8(ascii: "u"): self = .user(id)
        case UInt8(ascii: "i"): self = .installation(id)
        default: return nil
        }
    }
}
