internal import Store

/// A comparison of the rows that a commit changed with their previous state. It appends the changes that
/// matter to fan-out to a `LaneChanges`.
struct LaneChangeDetector: ~Copyable {
    private let tables: LaneTables
    private let names: NameTable
    private var filler: PageFiller
    /// The app of the last reported row. Neighboring rows nearly always have the same app.
    private var appNumber = NameTable.noName
    private var app = ""
    private var tableKey: [UInt8] = []

    init(tables: LaneTables, names: NameTable) {
        self.tables = tables
        self.names = names
        filler = PageFiller(names: names)
    }

    /// Appends the row if its change matters. Returns whether it does. A row that no longer exists is not reported.
    mutating func report(
        _ changed: ChangedRow, to changes: inout LaneChanges, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> Bool {
        // The code of the activity's group.
        var group: [UInt8]?
        tableKey = changed.key
        if changed.kind == .update {
            guard let code = try snapshot.value(of: changed.key.span, in: tables.activities) else {
                return false
            }
            group = Array(code)
            TableKey.writeUpdateKey(ofActivity: changed.key.span, group: code, into: &tableKey)
        }
        let table = changed.kind == .start ? tables.starts : tables.updates
        let rowKey = tableKey
        guard let value = try snapshot.value(of: rowKey.span, in: table) else { return false }
        let kinds = Self.kinds(of: changed, value: value, group: group)
        if kinds.isEmpty { return false }
        try lookUpApp(of: changed.key.span, snapshot: snapshot)
        changes.append(app: app, kinds: kinds)
        try appendRow(changed, value: value, group: group, to: &changes.rows, snapshot: snapshot)
        return true
    }

    private static func kinds(
        of changed: ChangedRow, value: Span<UInt8>, group: [UInt8]?
    ) -> LaneChanges.ChangeKinds {
        var kinds: LaneChanges.ChangeKinds = []
        if TokenValue.isServed(value), !receivedPushes(onTokenOf: value, before: changed.oldValue) {
            kinds.insert(.token)
        }
        if let group, group[0] != NameCode.Tag.none, group != changed.oldGroup { kinds.insert(.group) }
        // A row without a known previous state may have had a token.
        let hadToken = changed.oldValue.map { TokenValue.hasToken($0.span) } ?? true
        if !TokenValue.hasToken(value), hadToken { kinds.insert(.dismissal) }
        return kinds
    }

    /// Whether the row already received pushes on the same token when the new record came.
    private static func receivedPushes(onTokenOf value: Span<UInt8>, before oldValue: [UInt8]?) -> Bool {
        guard let oldValue, TokenValue.isServed(oldValue.span),
            TokenValue.tokenHash(in: oldValue.span).equals(TokenValue.tokenHash(in: value))
        else { return false }
        return (TokenValue.expiresAt(in: oldValue.span) ?? .max) > TokenValue.registeredAt(in: value)
    }

    /// Appends the current state of the row.
    private mutating func appendRow(
        _ changed: ChangedRow, value: Span<UInt8>, group: [UInt8]?, to page: inout TokenPage,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) {
        let holder = Array(TableKey.holder(of: changed.kind, in: changed.key.span))
        filler.resetGroup()
        if changed.kind == .start {
            return try filler.append(holder.span, value: value, group: nil, to: &page, snapshot: snapshot)
        }
        // From app, activity, holder in `activities` to holder, activity, as in a key of `updates`.
        var appEnd = 0
        _ = OrderedNumber.read(changed.key.span, at: &appEnd)
        let suffix = holder + changed.key[appEnd..<changed.key.count - holder.count]
        let groupCode = group ?? [NameCode.Tag.none]
        try filler.append(suffix.span, value: value, group: groupCode.span, to: &page, snapshot: snapshot)
    }

    private mutating func lookUpApp(of key: Span<UInt8>, snapshot: borrowing ReadSnapshot)
        throws(StoreError)
    {
        var offset = 0
        let number = OrderedNumber.read(key, at: &offset)
        if number == appNumber { return }
        appNumber = number
        var text: [UInt8] = []
        try names.appendName(of: number, to: &text, snapshot: snapshot)
        app = String(decoding: text, as: UTF8.self)
    }
}
