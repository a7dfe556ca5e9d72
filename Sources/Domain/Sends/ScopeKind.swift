/// The phones within which versions are ordered.
package enum ScopeKind: String, Sendable, CaseIterable {
    /// All phones of the group.
    case group
    /// The phones of one recipient within the group.
    case recipient
}
