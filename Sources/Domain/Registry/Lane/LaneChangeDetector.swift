internal import Store

/// The comparison of changed rows with their previous state.
struct LaneChangeDetector: ~Copyable {
    private let tables: LaneTables
    private let names: NameTable
    private var filler: PageFiller
    private var oldFiller: PageFiller
    private var appNumber = NameTable.noName
    private var app = ""
    private var tableKey: [UInt8] = []

    init(tables: LaneTables, names: NameTable) {
        self.tables = tables
        self.names = names
        filler = PageFiller(names: names)
        oldFiller = PageFiller(names: names)
    }

    mutating func report(
        _ changed: ChangedRow, to news: inout LaneChanges, snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) {
        var group: [UInt8]?
        tableKey = changed.key
        if changed.kind == .update {
            guard let code = try picture.value(of: changed.key.span, in: tables.activities) else { return }
            group = Array(code)
            TableKey.writeUpdateKey(ofActivity: changed.key.span, group: code, into: &tableKey)
        }
        let table = changed.kind == .start ? tables.starts : tables.updates
        let row = tableKey
        guard let value = try picture.value(of: row.span, in: table) else { return }
        let kinds = Self.kinds(of: value, in: group, changed: changed)
        if kinds.isEmpty { return }
        try lookUpApp(of: changed.key.span, snapshot: picture)
        news.append(app: app, kinds: kinds, hasOldRow: changed.oldValue != nil)
        try Self.append(changed, value: value, in: group, by: &filler, to: &news.rows, snapshot: picture)
        if let was = changed.oldValue {
            try Self.append(
                changed, value: was.span, in: changed.oldGroup, by: &oldFiller, to: &news.oldRows,
                snapshot: picture)
        } else {
            news.oldRows.entries.append(TokenPage.Entry())
        }
    }

    private static func kinds(
        of value: Span<UInt8>, in group: [UInt8]?, changed: ChangedRow
    ) -> LaneChanges.ChangeKinds {
        var kinds: LaneChanges.ChangeKinds = []
        if TokenValue.isServed(value), !hadSameToken(value, before: changed.oldValue) { kinds.insert(.token) }
        if let group, group[0] != NameCode.Tag.none, group != changed.oldGroup { kinds.insert(.group) }
        if !TokenValue.hasToken(value), changed.oldValue.map({ TokenValue.hasToken($0.span) }) ?? true {
            kinds.insert(.dismissal)
        }
        return kinds
    }

    /// Whether the row received pushes on the same token when the new record came.
    private static func hadSameToken(_ value: Span<UInt8>, before was: [UInt8]?) -> Bool {
        guard let was, TokenValue.isServed(was.span),
            TokenValue.tokenHash(in: was.span).equals(TokenValue.tokenHash(in: value))
        else { return false }
        return (TokenValue.expiresAt(in: was.span) ?? .max) > TokenValue.registeredAt(in: value)
    }

    private static func append(
        _ changed: ChangedRow, value: Span<UInt8>, in group: [UInt8]?, by filler: inout PageFiller,
        to page: inout TokenPage, snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) {
        var suffix = Array(TableKey.holder(of: changed.kind, in: changed.key.span))
        filler.resetGroup()
        if changed.kind == .start {
            return try filler.append(suffix.span, value: value, group: nil, to: &page, snapshot: picture)
        }
        var offset = 0
        _ = OrderedNumber.read(changed.key.span, at: &offset)
        suffix += changed.key[offset..<changed.key.count - suffix.count]
        let code = group ?? [NameCode.Tag.none]
        try filler.append(suffix.span, value: value, group: code.span, to: &page, snapshot: picture)
    }

    private mutating func lookUpApp(of key: Span<UInt8>, snapshot picture: borrowing ReadSnapshot)
        throws(StoreError)
    {
        var offset = 0
        let number = OrderedNumber.read(key, at: &offset)
        if number == appNumber { return }
        appNumber = number
        var text: [UInt8] = []
        try names.appendName(of: number, to: &text, snapshot: picture)
        app = String(decoding: text, as: UTF8.self)
    }
}
