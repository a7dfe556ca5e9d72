/// The news of a commit: rows with their new and previous state. A value is reused. `Lane.commit` fills it,
/// and the caller reads it in place.
package struct LaneChanges: ~Copyable {
    package struct ChangeKinds: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The token receives pushes and did not before: it is a different token, its row is served again, or
        /// it had expired.
        package static let token = ChangeKinds(rawValue: 1)
        /// The activity is in a group in which it was not before.
        package static let group = ChangeKinds(rawValue: 2)
        /// The person swiped the activity away.
        package static let dismissal = ChangeKinds(rawValue: 4)
    }

    struct Item {
        let app: String
        let kinds: ChangeKinds
        let hasOldRow: Bool
    }

    private(set) var items: [Item] = []
    var rows = TokenPage()
    /// A row without a previous state has an empty entry here.
    var oldRows = TokenPage()

    package init() {}

    package var count: Int { items.count }
    package var isEmpty: Bool { items.isEmpty }

    package func app(at index: Int) -> String { items[index].app }
    package func kinds(at index: Int) -> ChangeKinds { items[index].kinds }

    /// Returns the present row.
    @_lifetime(borrow self)
    package func row(at index: Int) -> TokenPageRow { rows[index] }

    /// Returns the previous row. Nil if it did not exist, or if it is unknown.
    @_lifetime(borrow self)
    package func oldRow(at index: Int) -> TokenPageRow? { items[index].hasOldRow ? oldRows[index] : nil }

    mutating func append(app: String, kinds: ChangeKinds, hasOldRow: Bool) {
        items.append(Item(app: app, kinds: kinds, hasOldRow: hasOldRow))
    }

    package mutating func removeAll() {
        items.removeAll(keepingCapacity: true)
        rows.removeAll()
        oldRows.removeAll()
    }
}
