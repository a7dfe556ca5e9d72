/// Whom a send addresses: the user where one is known, else the installation. Everything about one
/// recipient stays in one lane, in order.
package enum Recipient: Sendable, Hashable {
    case user(String)
    case installation(String)

    package static func == (a: Recipient, b: Recipient) -> Bool {
        switch (a, b) {
        case (.user(let a), .user(let b)), (.installation(let a), .installation(let b)): a.isExactly(b)
        case (.user, .installation), (.installation, .user): false
        }
    }

    /// `u:<user>` or `i:<installation>`, as keys and records have it.
    package var text: String {
        switch self {
        case .user(let id): "u:\(id)"
        case .installation(let id): "i:\(id)"
        }
    }

    /// Nil for what is no recipient. It goes by bytes: an id may begin with what Swift sees as a part of
    /// the character before it, an accent or the tone of an emoji.
    package init?(text: some StringProtocol) {
        let bytes = text.utf8
        let id = String(decoding: bytes.dropFirst(2), as: UTF8.self)
        guard Name.problem(id) == nil else { return nil }
        if bytes.starts(with: "u:".utf8) {
            self = .user(id)
        } else if bytes.starts(with: "i:".utf8) {
            self = .installation(id)
        } else {
            return nil
        }
    }
}
