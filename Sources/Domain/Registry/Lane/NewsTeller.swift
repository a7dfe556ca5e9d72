internal import Store

/// The comparison of changed rows with their previous state.
struct NewsTeller: ~Copyable {
    private let tables: LaneTables
    private let names: Names
    private var filler: PageFiller
    private var oldFiller: PageFiller
    private var appNumber = Names.none
    private var app = ""
    private var tableKey: [UInt8] = []

    init(_ tables: LaneTables, _ names: Names) {
        self.tables = tables
        self.names = names
        filler = PageFiller(names)
        oldFiller = PageFiller(names)
    }

    mutating func tell(
        _ changed: ChangedRow, to news: inout LaneNews, _ picture: borrowing Picture
    ) throws(StoreError) {
        var group: [UInt8]?
        tableKey = changed.key
        if changed.kind == .update {
            guard let code = try picture.value(of: changed.key.span, in: tables.activities) else { return }
            group = Array(code)
            TableKey.update(ofActivity: changed.key.span, group: code, into: &tableKey)
        }
        let table = changed.kind == .start ? tables.starts : tables.updates
        let row = tableKey
        guard let value = try picture.value(of: row.span, in: table) else { return }
        let kinds = Self.kinds(of: value, in: group, changed)
        if kinds.isEmpty { return }
        try nameApp(of: changed.key.span, picture)
        news.append(app: app, kinds, hasOld: changed.was != nil)
        try Self.append(changed, value: value, in: group, by: &filler, to: &news.rows, seen: picture)
        if let was = changed.was {
            try Self.append(
                changed, value: was.span, in: changed.wasIn, by: &oldFiller, to: &news.oldRows, seen: picture)
        } else {
            news.oldRows.entries.append(TokenPage.Entry())
        }
    }

    private static func kinds(
        of value: Span<UInt8>, in group: [UInt8]?, _ changed: ChangedRow
    ) -> LaneNews.Kinds {
        var kinds: LaneNews.Kinds = []
        if TokenValue.isServed(value), !hadItsToken(value, changed.was) { kinds.insert(.token) }
        if let group, group[0] != NameCode.Tag.none, group != changed.wasIn { kinds.insert(.group) }
        if !TokenValue.hasToken(value), changed.was.map({ TokenValue.hasToken($0.span) }) ?? true {
            kinds.insert(.dismissal)
        }
        return kinds
    }

    /// Whether the row received pushes on the same token when the new record came.
    private static func hadItsToken(_ value: Span<UInt8>, _ was: [UInt8]?) -> Bool {
        guard let was, TokenValue.isServed(was.span),
            TokenValue.hash(was.span).equals(TokenValue.hash(value))
        else { return false }
        return (TokenValue.expiresAt(was.span) ?? .max) > TokenValue.registeredAt(value)
    }

    private static func append(
        _ changed: ChangedRow, value: Span<UInt8>, in group: [UInt8]?, by filler: inout PageFiller,
        to page: inout TokenPage, seen picture: borrowing Picture
    ) throws(StoreError) {
        var suffix = Array(TableKey.holder(changed.kind, changed.key.span))
        filler.forgetGroup()
        if changed.kind == .start {
            return try filler.append(suffix.span, value, group: nil, to: &page, seen: picture)
        }
        var offset = 0
        _ = OrderedNumber.read(changed.key.span, at: &offset)
        suffix += changed.key[offset..<changed.key.count - suffix.count]
        let code = group ?? [NameCode.Tag.none]
        try filler.append(suffix.span, value, group: code.span, to: &page, seen: picture)
    }

    private mutating func nameApp(of key: Span<UInt8>, _ picture: borrowing Picture) throws(StoreError) {
        var offset = 0
        let number = OrderedNumber.read(key, at: &offset)
        if number == appNumber { return }
        appNumber = number
        var text: [UInt8] = []
        try names.append(number, to: &text, picture)
        app = String(decoding: text, as: UTF8.self)
    }
}
