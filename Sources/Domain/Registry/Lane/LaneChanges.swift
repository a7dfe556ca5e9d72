/// The rows of tokens that a commit of a lane changed in a way that matters to fan-out. Fan-out reads them to
/// serve a token that came, or a group that an activity joined, after the pages were read. One value is reused
/// for all commits: `Lane.commit` fills it, and the caller reads it in place.
package struct LaneChanges: ~Copyable {
    /// The differences between the current and the previous state of a row.
    package struct ChangeKinds: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The token receives pushes now and did not before: it is a different token, its row was not served,
        /// or it had expired.
        package static let token = ChangeKinds(rawValue: 1)
        /// The activity is in a group in which it was not before.
        package static let group = ChangeKinds(rawValue: 2)
        /// The person swiped the activity away.
        package static let dismissal = ChangeKinds(rawValue: 4)
    }

    struct Change {
        let app: String
        let kinds: ChangeKinds
    }

    // One element for each change, in the same order.

    private(set) var changes: [Change] = []
    /// The current state of the changed rows.
    var rows = TokenPage()

    package init() {}

    package var count: Int { changes.count }
    package var isEmpty: Bool { changes.isEmpty }

    package func app(at index: Int) -> String { changes[index].app }
    package func kinds(at index: Int) -> ChangeKinds { changes[index].kinds }

    @_lifetime(borrow self)
    package func row(at index: Int) -> TokenPageRow { rows[index] }

    /// Appends a change. The caller must append its row to `rows` as well, because both have the same index.
    mutating func append(app: String, kinds: ChangeKinds) {
        changes.append(Change(app: app, kinds: kinds))
    }

    package mutating func removeAll() {
        changes.removeAll(keepingCapacity: true)
        rows.removeAll()
    }
}
