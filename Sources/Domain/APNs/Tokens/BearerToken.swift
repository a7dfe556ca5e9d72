/// The current value of the `authorization` header. It is a secret, so it prints only its revision.
package struct BearerToken: Sendable, CustomStringConvertible, CustomReflectable {
    /// `bearer eyJ…`
    package let text: String
    /// A different number for each token. For one key, the greater number is the newer token.
    package let revision: Int
    /// Changes with the key. Connections that were opened with the old key must close.
    package let keyRevision: Int
    /// Changes when a token was made early. Connections that used the previous token must close.
    package let earlyTokenCount: Int

    package var description: String { "bearer \(revision)" }
    package var customMirror: Mirror { Mirror(self, children: ["revision": revision]) }
}
