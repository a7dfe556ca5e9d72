internal import Store

/// The decision between rows of two installations with one token, as after a login or a move to another
/// phone. The rows of the installation with the newest row are served. The other rows are flagged as shadowed
/// and are not served. They are served again if the newer installation leaves. One installation may have a
/// token in several rows, such as a start token under several types. These rows do not compete. Rows of
/// different apps or environments do not compete either. Rows that moved away compete only with each other,
/// because they serve sends that the new row treats as done.
///
/// The flags depend only on the rows: after every change of a row its token is checked again. That takes two
/// walks over the rows of the token, however many there are.
struct Contests {
    private let tables: LaneTables
    private let topicKeys: TopicKeys
    /// Key prefixes in `tokens`.
    private var touched: Set<[UInt8]> = []
    /// Rows that were shadowed and are served again.
    private(set) var risen: [ChangedRow] = []

    init(_ tables: LaneTables, _ topicKeys: TopicKeys) {
        self.tables = tables
        self.topicKeys = topicKeys
    }

    /// Notes that a row changed whose keys in `tokens` have this prefix.
    mutating func note(prefix: [UInt8]) { touched.insert(prefix) }

    mutating func settle(_ transaction: inout WriteTransaction) throws(StoreError) {
        for prefix in touched { try settle(prefix, &transaction) }
        touched.removeAll(keepingCapacity: true)
    }

    private mutating func settle(
        _ prefix: [UInt8], _ transaction: inout WriteTransaction
    ) throws(StoreError) {
        var keys: [[UInt8]] = []
        try Self.appendTokens(beginningWith: prefix, tables, transaction.picture, to: &keys)
        var newest: [Contested: Contender] = [:]
        // Nearly always there is at most one row, and no contest.
        if keys.count > 1 {
            for key in keys {
                let row = try contender(key, transaction.picture)
                let contested = Contested(row.value)
                guard let best = newest[contested] else {
                    newest[contested] = row
                    continue
                }
                if try isNewer(row, than: best, transaction.picture) { newest[contested] = row }
            }
        }
        for key in keys {
            let row = try contender(key, transaction.picture)
            let isShadowed = newest[Contested(row.value)].map { $0.holder != row.holder } ?? false
            let flag = isShadowed ? TokenValue.Flag.shadowed : 0
            guard row.value[0] & TokenValue.Flag.shadowed != flag else { continue }
            if !isShadowed { risen.append(ChangedRow(row.kind, row.entryKey, was: row.value, in: row.group)) }
            var value = row.value
            value[0] ^= TokenValue.Flag.shadowed
            try transaction.put(row.key.span, value.span, in: row.table)
        }
    }

    private static func appendTokens(
        beginningWith prefix: [UInt8], _ tables: LaneTables, _ picture: borrowing Picture,
        to keys: inout [[UInt8]]
    ) throws(StoreError) {
        var cursor = try picture.cursor(of: tables.tokens, from: prefix.span)
        while cursor.isOnRow, cursor.key.hasPrefix(prefix.span) {
            _ = try cursor.value
            keys.append(Array(cursor.key))
            try cursor.next()
        }
    }

    private func contender(_ token: [UInt8], _ picture: borrowing Picture) throws(StoreError) -> Contender {
        var offset = 0
        _ = OrderedNumber.read(token.span, at: &offset)
        let kindOffset = offset + TableKey.hashBytes
        let kind: RowKind = token[kindOffset] == RowKind.start.rawValue ? .start : .update
        let key = Array(token[..<offset]) + token[(kindOffset + 1)...]
        var row = key
        var group: [UInt8]?
        if kind == .update, let found = try picture.value(of: key.span, in: tables.activities) {
            group = Array(found)
            TableKey.update(ofActivity: key.span, group: found, into: &row)
        }
        let table = kind == .start ? tables.starts : tables.updates
        guard let value = try picture.value(of: row.span, in: table) else {
            throw .corrupt(path: "registry", what: "the token index points to a missing row")
        }
        return Contender(
            table: table, key: row, value: Array(value), kind: kind, entryKey: key, group: group)
    }

    private func isNewer(
        _ row: Contender, than other: Contender, _ picture: borrowing Picture
    ) throws(StoreError) -> Bool {
        let times = (TokenValue.registeredAt(row.value.span), TokenValue.registeredAt(other.value.span))
        if times.0 != times.1 { return times.0 > times.1 }
        // The order of one installation's rows does not matter.
        if row.holder == other.holder { return false }
        return try topicKey(other, picture).lexicographicallyPrecedes(topicKey(row, picture))
    }

    private func topicKey(_ row: Contender, _ picture: borrowing Picture) throws(StoreError) -> [UInt8] {
        try topicKeys.bytes(of: row.kind, key: row.entryKey.span, value: row.value.span, seen: picture)
    }
}

/// The properties that two rows must share to compete.
private struct Contested: Hashable {
    private let flags: UInt8
    private let hash: [UInt8]

    init(_ value: [UInt8]) {
        flags = value[0] & (TokenValue.Flag.sandbox | TokenValue.Flag.movedAway)
        hash = Array(TokenValue.hash(value.span))
    }
}

private struct Contender {
    let table: Table
    let key: [UInt8]
    let value: [UInt8]
    /// The kind of the entry: a start or an activity.
    let kind: RowKind
    let entryKey: [UInt8]
    let group: [UInt8]?

    /// The recipient and installation that hold the token.
    var holder: [UInt8] { Array(TableKey.holder(kind, entryKey.span)) }
}
