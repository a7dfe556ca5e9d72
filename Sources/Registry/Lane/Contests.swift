internal import Store

/// Two rows with one token, as after a login or a move to another phone: the newer stands, the others are
/// flagged and not served, and the next newest is served again when it goes. Rows of different apps or
/// environments have nothing to do with each other, and rows that have moved away compete only among
/// themselves: they serve what the new row counts as done.
///
/// The flags depend on nothing but the rows: every change of a row has its token looked at anew.
struct Contests {
    fileprivate struct Contender {
        var table: Table
        var key: [UInt8]
        var value: [UInt8]
        var registeredAt: Int64
        /// Of the start or the activity.
        var kind: RowKind
        var entryKey: [UInt8]
        /// Known only where time does not decide.
        var topicKey: [UInt8] = []
    }

    private let tables: LaneTables
    private let topicKeys: TopicKeys
    /// Beginnings of keys in `tokens`.
    private var touched: Set<[UInt8]> = []

    init(_ tables: LaneTables, _ topicKeys: TopicKeys) {
        self.tables = tables
        self.topicKeys = topicKeys
    }

    /// A row of the token has changed whose keys in `tokens` begin so.
    mutating func note(prefix: [UInt8]) { touched.insert(prefix) }

    mutating func settle(_ transaction: inout WriteTransaction) throws(StoreError) {
        for prefix in touched { try settle(prefix, &transaction) }
        touched.removeAll(keepingCapacity: true)
    }

    private func settle(_ prefix: [UInt8], _ transaction: inout WriteTransaction) throws(StoreError) {
        var keys: [[UInt8]] = []
        try Self.appendTokens(beginningWith: prefix, tables, transaction.view, to: &keys)
        // Nearly always: one row, which was just written unflagged, or none.
        if keys.isEmpty { return }
        var contenders: [Contender] = []
        for key in keys { contenders.append(try contender(key, transaction.view)) }
        if Set(contenders.map(\.registeredAt)).count < contenders.count {
            for index in contenders.indices {
                contenders[index].topicKey = try topicKey(contenders[index], transaction.view)
            }
        }
        for index in contenders.indices {
            let isShadowed = contenders.contains { $0.shadows(contenders[index]) }
            let flag = isShadowed ? TokenValue.Flag.shadowed : 0
            var value = contenders[index].value
            guard value[0] & TokenValue.Flag.shadowed != flag else { continue }
            value[0] ^= TokenValue.Flag.shadowed
            let (table, key) = (contenders[index].table, contenders[index].key)
            try transaction.put(key.span, value.span, in: table)
        }
    }

    private static func appendTokens(
        beginningWith prefix: [UInt8], _ tables: LaneTables, _ view: borrowing ReadView,
        to keys: inout [[UInt8]]
    ) throws(StoreError) {
        var cursor = try view.cursor(of: tables.tokens, from: prefix.span)
        while cursor.isOnRow, cursor.key.hasPrefix(prefix.span) {
            _ = try cursor.value
            keys.append(Array(cursor.key))
            try cursor.next()
        }
    }

    private func contender(_ token: [UInt8], _ view: borrowing ReadView) throws(StoreError) -> Contender {
        var place = 0
        _ = OrderedNumber.read(token.span, at: &place)
        let kindPlace = place + RowPlace.hashBytes
        let kind: RowKind = token[kindPlace] == RowKind.start.rawValue ? .start : .update
        let key = Array(token[..<place]) + token[(kindPlace + 1)...]
        var row = key
        if kind == .update, let group = try view.value(of: key.span, in: tables.activities) {
            RowPlace.update(ofActivity: key.span, group: group, into: &row)
        }
        let table = kind == .start ? tables.starts : tables.updates
        guard let value = try view.value(of: row.span, in: table) else {
            throw .corrupt(path: "registry", what: "a token stands in the index and in no row")
        }
        return Contender(
            table: table, key: row, value: Array(value), registeredAt: TokenValue.registeredAt(value),
            kind: kind, entryKey: key)
    }

    private func topicKey(_ row: Contender, _ view: borrowing ReadView) throws(StoreError) -> [UInt8] {
        try topicKeys.bytes(row.kind, row.entryKey.span, row.value.span, view)
    }
}

extension Contests.Contender {
    fileprivate func shadows(_ other: Contests.Contender) -> Bool {
        let same = TokenValue.Flag.sandbox | TokenValue.Flag.movedAway
        guard (value[0] ^ other.value[0]) & same == 0,
            TokenValue.hash(value.span).equals(TokenValue.hash(other.value.span))
        else { return false }
        if registeredAt != other.registeredAt { return registeredAt > other.registeredAt }
        return other.topicKey.lexicographicallyPrecedes(topicKey)
    }
}
