/// What became new by a commit, row by row, as it is now and as it was: used again and again, filled by
/// `Lane.commit`, read in place.
package struct LaneNews: ~Copyable {
    package struct Kinds: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Pushes go to a token to which none went before: it is another one, its row stands again, or it
        /// had expired.
        package static let token = Kinds(rawValue: 1)
        /// An activity is in a group in which it was not.
        package static let group = Kinds(rawValue: 2)
        /// The person has swiped the activity away.
        package static let dismissal = Kinds(rawValue: 4)
    }

    struct Item {
        let app: String
        let kinds: Kinds
        let hasOld: Bool
    }

    private(set) var items: [Item] = []
    var rows = TokenPage()
    /// The key of a row that was not there stays empty.
    var oldRows = TokenPage()

    package init() {}

    package var count: Int { items.count }
    package var isEmpty: Bool { items.isEmpty }

    package func app(_ index: Int) -> String { items[index].app }
    package func kinds(_ index: Int) -> Kinds { items[index].kinds }

    /// As it is now.
    @_lifetime(borrow self)
    package func row(_ index: Int) -> TokenPageRow { rows[index] }

    /// As it was; nil where it was not there, or where nobody knows.
    @_lifetime(borrow self)
    package func oldRow(_ index: Int) -> TokenPageRow? { items[index].hasOld ? oldRows[index] : nil }

    mutating func append(app: String, _ kinds: Kinds, hasOld: Bool) {
        items.append(Item(app: app, kinds: kinds, hasOld: hasOld))
    }

    package mutating func removeAll() {
        items.removeAll(keepingCapacity: true)
        rows.removeAll()
        oldRows.removeAll()
    }
}
