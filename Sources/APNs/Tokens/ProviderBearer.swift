/// The value of `authorization` that pushes carry now. A secret: it prints as its revision.
package struct ProviderBearer: Sendable, CustomStringConvertible, CustomReflectable {
    /// `bearer eyJ…`
    package let text: String
    /// Another one with each token; of two of one key the greater is the newer.
    package let revision: Int
    /// Another one when the key file is another key: connections opened with the old one are over.
    package let keyRevision: Int
    /// Another one when the token came before its time: connections that had the one before are over.
    package let turn: Int

    package var description: String { "bearer \(revision)" }
    package var customMirror: Mirror { Mirror(self, children: ["revision": revision]) }
}
