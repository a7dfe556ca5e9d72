internal import Store

/// The decision which rows are served if several installations have the same token, for example after a login
/// of another user. Otherwise the phone would get the pushes of both. The rows of the installation with the
/// newest row are served. The other rows get the flag `TokenValue.Flag.shadowed`. They are served again if
/// the newer installation leaves.
///
/// Rows compete only within one app and environment. Rows of one installation do not compete: it may have a
/// start token under several types. Rows that moved away compete only with each other, because they and the
/// rows at the new recipient never serve the same start. Rows that moved away serve only starts from before the
/// move, and those count as done for the rows at the new recipient (`TokenRow.movedAt`).
///
/// The flags depend only on the rows: after every change of a row its token is checked again. That takes two
/// walks over the rows of the token.
struct TokenConflicts {
    private let tables: LaneTables
    private let topicKeys: TopicKeyBuilder
    /// The tokens to check, as prefixes of their keys in `tokens`.
    private var touchedPrefixes: Set<[UInt8]> = []
    /// The rows that were shadowed and are served again.
    private(set) var restoredRows: [ChangedRow] = []

    init(tables: LaneTables, topicKeys: TopicKeyBuilder) {
        self.tables = tables
        self.topicKeys = topicKeys
    }

    /// Notes that a row of a token changed.
    ///
    /// - Parameter prefix: The prefix of the token's keys in `tokens`.
    mutating func markTouched(prefix: [UInt8]) { touchedPrefixes.insert(prefix) }

    /// Sets the flags in the rows of all touched tokens.
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
        // Nearly always one row has the token, and nothing competes.
        let newest = try keys.count > 1 ? newestRows(of: keys, snapshot: transaction.snapshot) : [:]
        for key in keys {
            let row = try conflictingRow(ofTokenKey: key, snapshot: transaction.snapshot)
            let isShadowed = newest[ConflictKey(row.value)].map { $0.holder != row.holder } ?? false
            let wasShadowed = row.value[0] & TokenValue.Flag.shadowed != 0
            guard wasShadowed != isShadowed else { continue }
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
        beginningWith prefix: [UInt8], tables: LaneTables, snapshot: borrowing ReadSnapshot,
        to keys: inout [[UInt8]]
    ) throws(StoreError) {
        var cursor = try snapshot.cursor(of: tables.tokens, from: prefix.span)
        while cursor.isOnRow, cursor.key.hasPrefix(prefix.span) {
            // Reading the value checks the row's checksum.
            _ = try cursor.value
            keys.append(Array(cursor.key))
            try cursor.advance()
        }
    }

    /// Returns the newest row among those that compete, for each group of competing rows.
    ///
    /// - Parameter keys: The keys of one token in `tokens`.
    private func newestRows(
        of keys: [[UInt8]], snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> [ConflictKey: ConflictingRow] {
        var newest: [ConflictKey: ConflictingRow] = [:]
        for key in keys {
            let row = try conflictingRow(ofTokenKey: key, snapshot: snapshot)
            let conflict = ConflictKey(row.value)
            guard let newestSoFar = newest[conflict] else {
                newest[conflict] = row
                continue
            }
            if try isNewer(row, than: newestSoFar, snapshot: snapshot) { newest[conflict] = row }
        }
        return newest
    }

    /// Returns the row to which a key of `tokens` points.
    private func conflictingRow(ofTokenKey tokenKey: [UInt8], snapshot: borrowing ReadSnapshot)
        throws(StoreError) -> ConflictingRow
    {
        // App, hash, kind, then the rest of the key in `starts` or `activities`.
        var appEnd = 0
        _ = OrderedNumber.read(tokenKey.span, at: &appEnd)
        let kindOffset = appEnd + TableKey.hashBytes
        let kind: RowKind = tokenKey[kindOffset] == RowKind.start.rawValue ? .start : .update
        let entryKey = Array(tokenKey[..<appEnd]) + tokenKey[(kindOffset + 1)...]
        var rowKey = entryKey
        var group: [UInt8]?
        if kind == .update, let groupCode = try snapshot.value(of: entryKey.span, in: tables.activities) {
            group = Array(groupCode)
            TableKey.writeUpdateKey(ofActivity: entryKey.span, group: groupCode, into: &rowKey)
        }
        let table = kind == .start ? tables.starts : tables.updates
        guard let value = try snapshot.value(of: rowKey.span, in: table) else {
            throw .corrupt(path: "registry", damage: "the token index points to a missing row")
        }
        return ConflictingRow(
            table: table, key: rowKey, value: Array(value), kind: kind, entryKey: entryKey, group: group)
    }

    /// Whether the row was registered later. If the times are equal, the greater topic key decides, so that
    /// every rebuild of the lane decides equally.
    private func isNewer(
        _ row: ConflictingRow, than other: ConflictingRow, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> Bool {
        let (registeredAt, otherRegisteredAt) = (
            TokenValue.registeredAt(in: row.value.span), TokenValue.registeredAt(in: other.value.span)
        )
        if registeredAt != otherRegisteredAt { return registeredAt > otherRegisteredAt }
        // The order of one installation's rows does not matter.
        if row.holder == other.holder { return false }
        return try topicKey(of: other, snapshot: snapshot).lexicographicallyPrecedes(
            topicKey(of: row, snapshot: snapshot))
    }

    private func topicKey(of row: ConflictingRow, snapshot: borrowing ReadSnapshot) throws(StoreError)
        -> [UInt8]
    {
        try topicKeys.bytes(of: row.kind, key: row.entryKey.span, value: row.value.span, snapshot: snapshot)
    }
}

/// The properties that rows must share to compete. Their app is the same, because it is part of the prefix of
/// their keys. The hash in that prefix is shortened, so the full hash is compared here.
private struct ConflictKey: Hashable {
    private let flags: UInt8
    private let hash: [UInt8]

    init(_ value: [UInt8]) {
        flags = value[0] & (TokenValue.Flag.sandbox | TokenValue.Flag.movedAway)
        hash = Array(TokenValue.tokenHash(in: value.span))
    }
}

/// A row of `starts` or `updates` that has a token.
private struct ConflictingRow {
    let table: Table
    let key: [UInt8]
    let value: [UInt8]
    /// A start or an update.
    let kind: RowKind
    /// The key in `starts` or `activities`.
    let entryKey: [UInt8]
    /// The code of the activity's group, or nil for a start.
    let group: [UInt8]?

    /// The recipient and installation that hold the token.
    var holder: [UInt8] { Array(TableKey.holder(of: kind, in: entryKey.span)) }
}
