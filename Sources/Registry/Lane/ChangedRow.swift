/// A row that a commit has touched, and what it was before.
struct ChangedRow {
    let kind: RowKind
    /// As `starts` or `activities` has it.
    let key: [UInt8]
    /// Nil where there was no such row, or where nobody knows.
    let was: [UInt8]?
    /// The code of the group that an activity was in.
    let wasIn: [UInt8]?

    init(_ kind: RowKind, _ key: [UInt8], was: [UInt8]? = nil, in group: [UInt8]? = nil) {
        self.kind = kind
        self.key = key
        self.was = was
        wasIn = group
    }

    /// - Parameter change: the key of a change; nil for one that no token is in.
    init?(unknown change: Span<UInt8>) {
        guard let kind = RowKind(rawValue: change[0]), kind != .profile else { return nil }
        self.init(kind, Array(change.extracting(1..<change.count)))
    }
}
