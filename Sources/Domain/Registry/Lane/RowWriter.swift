internal import Store

/// A writer that applies the changes of one transaction. It writes each row to its table and updates the
/// indexes `activities`, `groups` and `tokens`. At the end `finish` decides which rows are served among
/// installations that share a token.
struct RowWriter: ~Copyable {
    private let tables: LaneTables
    private var conflicts: TokenConflicts
    private var memberCounts = MemberCounts()
    /// Whether the change that is applied now is reported.
    private var reportsChanges = false
    /// The changed rows to report, with their previous state.
    private(set) var changedRows: [ChangedRow] = []

    init(tables: LaneTables, topicKeys: TopicKeyBuilder) {
        self.tables = tables
        conflicts = TokenConflicts(tables: tables, topicKeys: topicKeys)
    }

    /// Applies a change of `ChangeDecoder`.
    ///
    /// - Parameters:
    ///   - change: One byte with the kind of the row, and then the row's key.
    ///   - value: Nil removes the row.
    mutating func apply(
        _ change: Span<UInt8>, value: Span<UInt8>?, reportsChanges: Bool,
        in transaction: inout WriteTransaction
    ) throws(StoreError) {
        self.reportsChanges = reportsChanges
        let key = change.extracting(1..<change.count)
        switch RowKind(rawValue: change[0]) {
        case .start: try applyStart(key, value: value, in: &transaction)
        case .update: try applyUpdate(key, groupAndValue: value, in: &transaction)
        case .profile:
            if let value {
                try transaction.put(key, value: value, in: tables.profiles)
            } else {
                try transaction.remove(key, in: tables.profiles)
            }
        case nil: preconditionFailure("the change has no row kind")
        }
    }

    /// Decides which rows are served, and writes the numbers of members. Call it once, after the last change.
    ///
    /// - Parameter reportsChanges: Whether rows that are served again are reported.
    mutating func finish(reportsChanges: Bool, in transaction: inout WriteTransaction) throws(StoreError) {
        try memberCounts.write(to: tables.groups, in: &transaction)
        try conflicts.resolve(in: &transaction)
        if reportsChanges { changedRows += conflicts.restoredRows }
    }

    private mutating func applyStart(
        _ key: Span<UInt8>, value: Span<UInt8>?, in transaction: inout WriteTransaction
    ) throws(StoreError) {
        let oldValue = try copyValue(of: key, in: tables.starts, snapshot: transaction.snapshot)
        guard let value else {
            guard let oldValue else { return }
            try transaction.remove(key, in: tables.starts)
            return try removeToken(.start, key: key, value: oldValue, in: &transaction)
        }
        if let oldValue, TokenValue.isSameRecord(oldValue.span, as: value) { return }
        try transaction.put(key, value: value, in: tables.starts)
        if reportsChanges {
            changedRows.append(ChangedRow(kind: .start, key: Array(key), oldValue: oldValue))
        }
        try replaceToken(.start, key: key, oldValue: oldValue, value: value, in: &transaction)
    }

    /// - Parameter groupAndValue: The code of the activity's group, and the value for `updates`.
    private mutating func applyUpdate(
        _ key: Span<UInt8>, groupAndValue: Span<UInt8>?, in transaction: inout WriteTransaction
    ) throws(StoreError) {
        // The key in `updates`.
        var tableKey: [UInt8] = []
        var oldValue: [UInt8]?
        let oldGroup = try copyValue(of: key, in: tables.activities, snapshot: transaction.snapshot)
        if let oldGroup {
            TableKey.writeUpdateKey(ofActivity: key, group: oldGroup.span, into: &tableKey)
            oldValue = try copyValue(of: tableKey.span, in: tables.updates, snapshot: transaction.snapshot)
        }
        guard let groupAndValue else {
            guard let oldValue else { return }
            try transaction.remove(tableKey.span, in: tables.updates)
            memberCounts.add(-1, toGroupOf: tableKey.span)
            try transaction.remove(key, in: tables.activities)
            return try removeToken(.update, key: key, value: oldValue, in: &transaction)
        }
        var groupEnd = 0
        NameCode.skip(groupAndValue, at: &groupEnd)
        let group = groupAndValue.extracting(0..<groupEnd)
        let value = groupAndValue.extracting(groupEnd..<groupAndValue.count)
        if let oldValue, let oldGroup, group.equals(oldGroup.span) {
            if TokenValue.isSameRecord(oldValue.span, as: value) { return }
        } else {
            // The activity is new, or another group changes its key.
            if oldValue != nil {
                try transaction.remove(tableKey.span, in: tables.updates)
                memberCounts.add(-1, toGroupOf: tableKey.span)
            }
            try transaction.put(key, value: group, in: tables.activities)
            TableKey.writeUpdateKey(ofActivity: key, group: group, into: &tableKey)
            memberCounts.add(1, toGroupOf: tableKey.span)
        }
        try transaction.put(tableKey.span, value: value, in: tables.updates)
        if reportsChanges {
            changedRows.append(
                ChangedRow(kind: .update, key: Array(key), oldValue: oldValue, oldGroup: oldGroup))
        }
        try replaceToken(.update, key: key, oldValue: oldValue, value: value, in: &transaction)
    }

    // MARK: The index of tokens

    /// - Parameter key: The row's key in `starts` or `activities`.
    private mutating func replaceToken(
        _ kind: RowKind, key: Span<UInt8>, oldValue: [UInt8]?, value: Span<UInt8>,
        in transaction: inout WriteTransaction
    ) throws(StoreError) {
        let hasToken = TokenValue.hasToken(value)
        if let oldValue {
            let isSameToken =
                hasToken && TokenValue.tokenHash(in: oldValue.span).equals(TokenValue.tokenHash(in: value))
            if !isSameToken { try removeToken(kind, key: key, value: oldValue, in: &transaction) }
        }
        guard hasToken else { return }
        var tokenKey: [UInt8] = []
        TableKey.writeTokenKey(of: kind, key: key, hash: TokenValue.tokenHash(in: value), into: &tokenKey)
        conflicts.markTouched(prefix: Array(TableKey.tokenPrefix(of: tokenKey.span)))
        try transaction.put(tokenKey.span, value: Span(), in: tables.tokens)
    }

    /// - Parameter value: The value of the row that had the token.
    private mutating func removeToken(
        _ kind: RowKind, key: Span<UInt8>, value: [UInt8], in transaction: inout WriteTransaction
    ) throws(StoreError) {
        guard TokenValue.hasToken(value.span) else { return }
        var tokenKey: [UInt8] = []
        TableKey.writeTokenKey(
            of: kind, key: key, hash: TokenValue.tokenHash(in: value.span), into: &tokenKey)
        conflicts.markTouched(prefix: Array(TableKey.tokenPrefix(of: tokenKey.span)))
        try transaction.remove(tokenKey.span, in: tables.tokens)
    }

    private func copyValue(
        of key: Span<UInt8>, in table: Table, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> [UInt8]? {
        guard let value = try snapshot.value(of: key, in: table) else { return nil }
        return Array(value)
    }
}
