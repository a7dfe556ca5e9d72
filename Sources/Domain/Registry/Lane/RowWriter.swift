internal import Store

/// The writer of changes in one transaction. It writes each row to its table and updates the indexes. At the
/// end it decides which rows are served among installations that share a token.
struct RowWriter: ~Copyable {
    private let tables: LaneTables
    private var conflicts: TokenConflicts
    private var reportsChanges = false
    /// The rows that may be news, with their previous values.
    private(set) var changedRows: [ChangedRow] = []

    init(tables: LaneTables, topicKeys: TopicKeyBuilder) {
        self.tables = tables
        conflicts = TokenConflicts(tables: tables, topicKeys: topicKeys)
    }

    /// Applies a change as `ChangeDecoder` makes it. A nil value removes the row.
    mutating func apply(
        _ change: Span<UInt8>, value: Span<UInt8>?, reportsChanges: Bool,
        in transaction: inout WriteTransaction
    ) throws(StoreError) {
        self.reportsChanges = reportsChanges
        let key = change.extracting(1..<change.count)
        switch RowKind(rawValue: change[0]) {
        case .start: try applyStart(key, value: value, in: &transaction)
        case .update: try applyUpdate(key, change: value, in: &transaction)
        case .profile:
            if let value {
                try transaction.put(key, value: value, in: tables.profiles)
            } else {
                try transaction.remove(key, in: tables.profiles)
            }
        case nil: preconditionFailure("a change of no kind")
        }
    }

    /// - Parameter isNews: Whether rows that are served again count as news.
    mutating func resolveConflicts(reportsChanges: Bool, in transaction: inout WriteTransaction)
        throws(StoreError)
    {
        try conflicts.resolve(in: &transaction)
        if reportsChanges { changedRows += conflicts.restoredRows }
    }

    private mutating func applyStart(
        _ key: Span<UInt8>, value: Span<UInt8>?, in transaction: inout WriteTransaction
    ) throws(StoreError) {
        let old = try copyValue(of: key, in: tables.starts, snapshot: transaction.snapshot)
        guard let value else {
            guard let old else { return }
            try transaction.remove(key, in: tables.starts)
            return try removeToken(.start, key: key, token: old, in: &transaction)
        }
        if let old, TokenValue.isSameRecord(old.span, as: value) { return }
        try transaction.put(key, value: value, in: tables.starts)
        if reportsChanges { changedRows.append(ChangedRow(kind: .start, key: Array(key), oldValue: old)) }
        try moveToken(.start, key: key, from: old, to: value, in: &transaction)
    }

    private mutating func applyUpdate(
        _ key: Span<UInt8>, change: Span<UInt8>?, in transaction: inout WriteTransaction
    ) throws(StoreError) {
        var tableKey: [UInt8] = []
        var old: [UInt8]?
        let group = try copyValue(of: key, in: tables.activities, snapshot: transaction.snapshot)
        if let group {
            TableKey.writeUpdateKey(ofActivity: key, group: group.span, into: &tableKey)
            old = try copyValue(of: tableKey.span, in: tables.updates, snapshot: transaction.snapshot)
        }
        guard let change else {
            guard let old else { return }
            try transaction.remove(tableKey.span, in: tables.updates)
            try transaction.remove(key, in: tables.activities)
            TableKey.writeRecipientKey(ofActivity: key, into: &tableKey)
            try transaction.remove(tableKey.span, in: tables.recipients)
            return try removeToken(.update, key: key, token: old, in: &transaction)
        }
        var end = 0
        NameCode.skip(change, at: &end)
        let newGroup = change.extracting(0..<end)
        let value = change.extracting(end..<change.count)
        if let old, let group, newGroup.equals(group.span) {
            if TokenValue.isSameRecord(old.span, as: value) { return }
        } else {
            if old != nil {
                try transaction.remove(tableKey.span, in: tables.updates)
            } else {
                TableKey.writeRecipientKey(ofActivity: key, into: &tableKey)
                try transaction.put(tableKey.span, value: Span(), in: tables.recipients)
            }
            try transaction.put(key, value: newGroup, in: tables.activities)
            TableKey.writeUpdateKey(ofActivity: key, group: newGroup, into: &tableKey)
        }
        try transaction.put(tableKey.span, value: value, in: tables.updates)
        if reportsChanges {
            changedRows.append(ChangedRow(kind: .update, key: Array(key), oldValue: old, oldGroup: group))
        }
        try moveToken(.update, key: key, from: old, to: value, in: &transaction)
    }

    private mutating func moveToken(
        _ kind: RowKind, key: Span<UInt8>, from old: [UInt8]?, to value: Span<UInt8>,
        in transaction: inout WriteTransaction
    ) throws(StoreError) {
        let hasToken = TokenValue.hasToken(value)
        if let old {
            let isSame =
                hasToken && TokenValue.tokenHash(in: old.span).equals(TokenValue.tokenHash(in: value))
            if !isSame { try removeToken(kind, key: key, token: old, in: &transaction) }
        }
        guard hasToken else { return }
        var index: [UInt8] = []
        TableKey.writeTokenKey(of: kind, key: key, hash: TokenValue.tokenHash(in: value), into: &index)
        conflicts.markTouched(prefix: Array(TableKey.tokenPrefix(of: index.span)))
        try transaction.put(index.span, value: Span(), in: tables.tokens)
    }

    private mutating func removeToken(
        _ kind: RowKind, key: Span<UInt8>, token old: [UInt8], in transaction: inout WriteTransaction
    ) throws(StoreError) {
        guard TokenValue.hasToken(old.span) else { return }
        var index: [UInt8] = []
        TableKey.writeTokenKey(of: kind, key: key, hash: TokenValue.tokenHash(in: old.span), into: &index)
        conflicts.markTouched(prefix: Array(TableKey.tokenPrefix(of: index.span)))
        try transaction.remove(index.span, in: tables.tokens)
    }

    private func copyValue(
        of key: Span<UInt8>, in table: Table, snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) -> [UInt8]? {
        guard let value = try picture.value(of: key, in: table) else { return nil }
        return Array(value)
    }
}
