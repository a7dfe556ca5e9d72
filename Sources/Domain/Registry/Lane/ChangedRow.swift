/// A row of `starts` or `updates` that a commit changed, with its previous state. `LaneChangeDetector`
/// compares it with the current state.
struct ChangedRow {
    let kind: RowKind
    /// The key in `starts` or `activities`.
    let key: [UInt8]
    /// The previous value. Nil if the row did not exist, or if the previous value is unknown.
    let oldValue: [UInt8]?
    /// The code of the activity's previous group.
    let oldGroup: [UInt8]?

    init(kind: RowKind, key: [UInt8], oldValue: [UInt8]? = nil, oldGroup: [UInt8]? = nil) {
        self.kind = kind
        self.key = key
        self.oldValue = oldValue
        self.oldGroup = oldGroup
    }

    /// The key of the row's change (`ChangeDecoder`).
    var changeKey: [UInt8] { [kind.rawValue] + key }

    /// Creates a row whose previous state is unknown. Returns nil for a profile, because it has no token.
    ///
    /// - Parameter change: The key of a change (`ChangeDecoder`).
    init?(changeKey change: Span<UInt8>) {
        guard let kind = RowKind(rawValue: change[0]), kind != .profile else { return nil }
        self.init(kind: kind, key: Array(change.extracting(1..<change.count)))
    }
}
