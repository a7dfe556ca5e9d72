/// Whom a send addresses: the user where one is known, else the installation. Everything about one
/// recipient stays in one lane, in order.
package enum Recipient: Sendable, Hashable {
    case user(String)
    case installation(String)

    /// `u:<user>` or `i:<installation>`, as keys and records have it.
    package var text: String {
        switch self {
        case .user(let id): "u:\(id)"
        case .installation(let id): "i:\(id)"
        }
    }

    /// Nil for what is no recipient.
    package init?(text: some StringProtocol) {
        let id = String(text.dropFirst(2))
        guard Name.problem(id) == nil else { return nil }
        if text.hasPrefix("u:") {
            self = .user(id)
        } else if text.hasPrefix("i:") {
            self = .installation(id)
        } else {
            return nil
        }
    }
}
