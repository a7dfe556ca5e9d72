/// The current provider token of one key, as the value of the header `authorization`. It is a secret, so it
/// prints only its revision.
package struct BearerToken: Sendable, CustomStringConvertible, CustomReflectable {
    /// `bearer eyJ…`
    package let text: String
    /// A different number for each token. For one key, the greater number is the newer token.
    package let revision: Int
    /// Changes with the key. Connections that were opened with the old key must close.
    package let keyRevision: Int
    /// The number of tokens that were made less than 20 minutes after the previous one. If it changes,
    /// connections that used the previous token must close.
    package let earlyTokenCount: Int

    package var description: String { "bearer \(revision)" }
    package var customMirror: Mirror { Mirror(self, children: ["revision": revision]) }
}
