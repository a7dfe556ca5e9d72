/// A row that a commit changed, with its previous value.
struct ChangedRow {
    let kind: RowKind
    /// The key as in `starts` or `activities`.
    let key: [UInt8]
    /// The previous value. Nil if the row did not exist, or if the previous value is unknown.
    let was: [UInt8]?
    /// The code of the activity's previous group.
    let wasIn: [UInt8]?

    init(_ kind: RowKind, _ key: [UInt8], was: [UInt8]? = nil, in group: [UInt8]? = nil) {
        self.kind = kind
        self.key = key
        self.was = was
        wasIn = group
    }

    /// - Parameter change: The key of a change. The result is nil if its kind has no token.
    init?(unknown change: Span<UInt8>) {
        guard let kind = RowKind(rawValue: change[0]), kind != .profile else { return nil }
        self.init(kind, Array(change.extracting(1..<change.count)))
    }
}
