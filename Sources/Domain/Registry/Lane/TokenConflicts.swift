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
struct TokenConflicts {
    private let tables: LaneTables
    private let topicKeys: TopicKeyBuilder
    /// Key prefixes in `tokens`.
    private var touchedPrefixes: Set<[UInt8]> = []
    /// Rows that were shadowed and are served again.
    private(set) var restoredRows: [ChangedRow] = []

    init(tables: LaneTables, topicKeys: TopicKeyBuilder) {
        self.tables = tables
        self.topicKeys = topicKeys
    }

    /// Notes that a row changed whose keys in `tokens` have this prefix.
    mutating func markTouched(prefix: [UInt8]) { touchedPrefixes.insert(prefix) }

    mutating func resolve(in transaction: inout WriteTransaction) throws(StoreError) {
        for prefix in touchedPrefixes { try resolve(prefix, in: &transaction) }
        touchedPrefixes.removeAll(keepingCapacity: true)
    }

    private mutating func resolve(
        _ prefix: [UInt8], in transaction: inout WriteTransaction
    ) throws(StoreError) {
        var keys: [[UInt8]] = []
        try Self.appendTokenKeys(
            beginningWith: prefix, tables: tables, snapshot: transaction.snapshot, to: &keys)
        var newest: [ConflictKey: ConflictingRow] = [:]
        // Nearly always there is at most one row, and no contest.
        if keys.count > 1 {
            for key in keys {
                let row = try conflictingRow(ofToken: key, snapshot: transaction.snapshot)
                let contested = ConflictKey(row.value)
                guard let best = newest[contested] else {
                    newest[contested] = row
                    continue
                }
                if try isNewer(row, than: best, snapshot: transaction.snapshot) { newest[contested] = row }
            }
        }
        for key in keys {
            let row = try conflictingRow(ofToken: key, snapshot: transaction.snapshot)
            let isShadowed = newest[ConflictKey(row.value)].map { $0.holder != row.holder } ?? false
            let flag = isShadowed ? TokenValue.Flag.shadowed : 0
            guard row.value[0] & TokenValue.Flag.shadowed != flag else { continue }
            if !isShadowed {
                restoredRows.append(
                    ChangedRow(kind: row.kind, key: row.entryKey, oldValue: row.value, oldGroup: row.group))
            }
            var value = row.value
            value[0] ^= TokenValue.Flag.shadowed
            try transaction.put(row.key.span, value: value.span, in: row.table)
        }
    }

    private static func appendTokenKeys(
        beginningWith prefix: [UInt8], tables: LaneTables, snapshot picture: borrowing ReadSnapshot,
        to keys: inout [[UInt8]]
    ) throws(StoreError) {
        var cursor = try picture.cursor(of: tables.tokens, from: prefix.span)
        while cursor.isOnRow, cursor.key.hasPrefix(prefix.span) {
            _ = try cursor.value
            keys.append(Array(cursor.key))
            try cursor.advance()
        }
    }

    private func conflictingRow(ofToken token: [UInt8], snapshot picture: borrowing ReadSnapshot)
        throws(StoreError) -> ConflictingRow
    {
        var offset = 0
        _ = OrderedNumber.read(token.span, at: &offset)
        let kindOffset = offset + TableKey.hashBytes
        let kind: RowKind = token[kindOffset] == RowKind.start.rawValue ? .start : .update
        let key = Array(token[..<offset]) + token[(kindOffset + 1)...]
        var row = key
        var group: [UInt8]?
        if kind == .update, let found = try picture.value(of: key.span, in: tables.activities) {
            group = Array(found)
            TableKey.writeUpdateKey(ofActivity: key.span, group: found, into: &row)
        }
        let table = kind == .start ? tables.starts : tables.updates
        guard let value = try picture.value(of: row.span, in: table) else {
            throw .corrupt(path: "registry", what: "the token index points to a missing row")
        }
        return ConflictingRow(
            table: table, key: row, value: Array(value), kind: kind, entryKey: key, group: group)
    }

    private func isNewer(
        _ row: ConflictingRow, than other: ConflictingRow, snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) -> Bool {
        let times = (
            TokenValue.registeredAt(in: row.value.span), TokenValue.registeredAt(in: other.value.span)
        )
        if times.0 != times.1 { return times.0 > times.1 }
        // The order of one installation's rows does not matter.
        if row.holder == other.holder { return false }
        return try topicKey(of: other, snapshot: picture).lexicographicallyPrecedes(
            topicKey(of: row, snapshot: picture))
    }

    private func topicKey(of row: ConflictingRow, snapshot picture: borrowing ReadSnapshot) throws(StoreError)
        -> [UInt8]
    {
        try topicKeys.bytes(of: row.kind, key: row.entryKey.span, value: row.value.span, snapshot: picture)
    }
}

/// The properties that two rows must share to compete.
private struct ConflictKey: Hashable {
    private let flags: UInt8
    private let hash: [UInt8]

    init(_ value: [UInt8]) {
        flags = value[0] & (TokenValue.Flag.sandbox | TokenValue.Flag.movedAway)
        hash = Array(TokenValue.tokenHash(in: value.span))
    }
}

private struct ConflictingRow {
    let table: Table
    let key: [UInt8]
    let value: [UInt8]
    /// The kind of the entry: a start or an activity.
    let kind: RowKind
    let entryKey: [UInt8]
    let group: [UInt8]?

    /// The recipient and installation that hold the token.
    var holder: [UInt8] { Array(TableKey.holder(of: kind, in: entryKey.span)) }
}
