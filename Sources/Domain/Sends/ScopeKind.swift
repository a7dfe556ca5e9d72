/// The kind of a scope in a sheet or an expansion: the phones that share one order of versions.
package enum ScopeKind: String, Sendable, CaseIterable {
    /// All phones of the group.
    case group
    /// The phones of one recipient within the group.
    case recipient
}
