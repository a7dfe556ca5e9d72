internal import Store

/// A detector that compares the rows that a commit changed with their previous state. It appends the changes that matter
/// to fan-out to a `LaneChanges`, each with the row's current state. Examples are a token that receives pushes from now
/// on, or an activity that joined a group.
struct LaneChangeDetector: ~Copyable {
    private let tables: LaneTables
    private let names: NameTable
    private var filler: PageFiller
    /// The app of the last change. Neighboring rows nearly always have the same app.
    private var lastAppNumber = NameTable.noName
    private var lastApp = ""

    init(tables: LaneTables, names: NameTable) {
        self.tables = tables
        self.names = names
        filler = PageFiller(names: names)
    }

    /// Appends the row if its change matters. Returns whether it does. A row that no longer exists is not reported.
    mutating func report(
        _ changed: ChangedRow, to changes: inout LaneChanges, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> Bool {
        var rowKey = changed.key
        // For an update: the code of the activity's current group.
        var group: [UInt8]?
        if changed.kind == .update {
            guard let code = try snapshot.value(of: changed.key.span, in: tables.activities) else {
                return false
            }
            group = Array(code)
            TableKey.writeUpdateKey(ofActivity: changed.key.span, group: code, into: &rowKey)
        }
        let table = changed.kind == .start ? tables.starts : tables.updates
        guard let value = try snapshot.value(of: rowKey.span, in: table) else { return false }
        let kinds = Self.kinds(of: changed, value: value, group: group)
        if kinds.isEmpty { return false }
        changes.append(app: try app(of: changed.key.span, snapshot: snapshot), kinds: kinds)
        try appendRow(changed, value: value, group: group, to: &changes.rows, snapshot: snapshot)
        return true
    }

    /// Returns the differences between the current and the previous state of a row. If the previous state is unknown,
    /// everything counts as changed.
    private static func kinds(
        of changed: ChangedRow, value: Span<UInt8>, group: [UInt8]?
    ) -> LaneChanges.ChangeKinds {
        var kinds: LaneChanges.ChangeKinds = []
        let isKnownToken = changed.oldValue.map { wasServed($0.span, withTokenOf: value) } ?? false
        if TokenValue.isServed(value), !isKnownToken { kinds.insert(.token) }
        if let group, group[0] != NameCode.Tag.none, group != changed.oldGroup { kinds.insert(.group) }
        // Only the row of an activity that the person swiped away has no token.
        let hadToken = changed.oldValue.map { TokenValue.hasToken($0.span) } ?? true
        if !TokenValue.hasToken(value), hadToken { kinds.insert(.dismissal) }
        return kinds
    }

    /// Whether the previous row was served with the same token, and had not expired when the phone registered the
    /// current row.
    private static func wasServed(_ oldValue: Span<UInt8>, withTokenOf value: Span<UInt8>) -> Bool {
        guard TokenValue.isServed(oldValue),
            TokenValue.tokenHash(in: oldValue).equals(TokenValue.tokenHash(in: value))
        else { return false }
        return (TokenValue.expiresAt(in: oldValue) ?? .max) > TokenValue.registeredAt(in: value)
    }

    /// Appends the current state of the row.
    private mutating func appendRow(
        _ changed: ChangedRow, value: Span<UInt8>, group: [UInt8]?, to page: inout TokenPage,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) {
        // Successive changes may have different groups.
        filler.resetGroup()
        guard let group else {
            let holder = TableKey.holder(of: changed.kind, in: changed.key.span)
            return try filler.append(holder, value: value, group: nil, to: &page, snapshot: snapshot)
        }
        var suffix: [UInt8] = []
        TableKey.appendUpdateSuffix(ofActivity: changed.key.span, to: &suffix)
        try filler.append(suffix.span, value: value, group: group.span, to: &page, snapshot: snapshot)
    }

    /// Returns the id of the app with whose number a key begins.
    private mutating func app(
        of key: Span<UInt8>, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> String {
        var offset = 0
        let number = OrderedNumber.read(key, at: &offset)
        if number != lastAppNumber {
            var text: [UInt8] = []
            try names.appendName(of: number, to: &text, snapshot: snapshot)
            lastAppNumber = number
            lastApp = String(decoding: text, as: UTF8.self)
        }
        return lastApp
    }
}
