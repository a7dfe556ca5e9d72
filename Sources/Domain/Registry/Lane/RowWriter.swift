internal import Store

/// The writer of changes in one transaction. It writes each row to its table and updates the indexes. At the
/// end it decides which rows are served among installations that share a token.
struct RowWriter: ~Copyable {
    private let tables: LaneTables
    private var contests: Contests
    private var isNews = false
    /// The rows that may be news, with their previous values.
    private(set) var changed: [ChangedRow] = []

    init(_ tables: LaneTables, _ topicKeys: TopicKeys) {
        self.tables = tables
        contests = Contests(tables, topicKeys)
    }

    /// Applies a change as `ChangeDecoder` makes it. A nil value removes the row.
    mutating func apply(
        _ change: Span<UInt8>, value: Span<UInt8>?, isNews: Bool, in transaction: inout WriteTransaction
    ) throws(StoreError) {
        self.isNews = isNews
        let key = change.extracting(1..<change.count)
        switch RowKind(rawValue: change[0]) {
        case .start: try applyStart(key, value: value, in: &transaction)
        case .update: try applyUpdate(key, change: value, in: &transaction)
        case .profile:
            if let value {
                try transaction.put(key, value, in: tables.profiles)
            } else {
                try transaction.remove(key, in: tables.profiles)
            }
        case nil: preconditionFailure("a change of no kind")
        }
    }

    /// - Parameter isNews: Whether rows that are served again count as news.
    mutating func settle(isNews: Bool, _ transaction: inout WriteTransaction) throws(StoreError) {
        try contests.settle(&transaction)
        if isNews { changed += contests.risen }
    }

    private mutating func applyStart(
        _ key: Span<UInt8>, value: Span<UInt8>?, in transaction: inout WriteTransaction
    ) throws(StoreError) {
        let old = try read(key, in: tables.starts, transaction.picture)
        guard let value else {
            guard let old else { return }
            try transaction.remove(key, in: tables.starts)
            return try removeToken(.start, key: key, token: old, in: &transaction)
        }
        if let old, TokenValue.saysTheSame(old.span, value) { return }
        try transaction.put(key, value, in: tables.starts)
        if isNews { changed.append(ChangedRow(.start, Array(key), was: old)) }
        try moveToken(.start, key: key, from: old, to: value, in: &transaction)
    }

    private mutating func applyUpdate(
        _ key: Span<UInt8>, change: Span<UInt8>?, in transaction: inout WriteTransaction
    ) throws(StoreError) {
        var tableKey: [UInt8] = []
        var old: [UInt8]?
        let group = try read(key, in: tables.activities, transaction.picture)
        if let group {
            TableKey.update(ofActivity: key, group: group.span, into: &tableKey)
            old = try read(tableKey.span, in: tables.updates, transaction.picture)
        }
        guard let change else {
            guard let old else { return }
            try transaction.remove(tableKey.span, in: tables.updates)
            try transaction.remove(key, in: tables.activities)
            TableKey.recipient(ofActivity: key, into: &tableKey)
            try transaction.remove(tableKey.span, in: tables.recipients)
            return try removeToken(.update, key: key, token: old, in: &transaction)
        }
        var end = 0
        NameCode.skip(change, at: &end)
        let newGroup = change.extracting(0..<end)
        let value = change.extracting(end..<change.count)
        if let old, let group, newGroup.equals(group.span) {
            if TokenValue.saysTheSame(old.span, value) { return }
        } else {
            if old != nil {
                try transaction.remove(tableKey.span, in: tables.updates)
            } else {
                TableKey.recipient(ofActivity: key, into: &tableKey)
                try transaction.put(tableKey.span, Span(), in: tables.recipients)
            }
            try transaction.put(key, newGroup, in: tables.activities)
            TableKey.update(ofActivity: key, group: newGroup, into: &tableKey)
        }
        try transaction.put(tableKey.span, value, in: tables.updates)
        if isNews { changed.append(ChangedRow(.update, Array(key), was: old, in: group)) }
        try moveToken(.update, key: key, from: old, to: value, in: &transaction)
    }

    private mutating func moveToken(
        _ kind: RowKind, key: Span<UInt8>, from old: [UInt8]?, to value: Span<UInt8>,
        in transaction: inout WriteTransaction
    ) throws(StoreError) {
        let hasToken = TokenValue.hasToken(value)
        if let old {
            let isSame = hasToken && TokenValue.hash(old.span).equals(TokenValue.hash(value))
            if !isSame { try removeToken(kind, key: key, token: old, in: &transaction) }
        }
        guard hasToken else { return }
        var index: [UInt8] = []
        TableKey.token(kind, key, hash: TokenValue.hash(value), into: &index)
        contests.note(prefix: Array(TableKey.tokenPrefix(index.span)))
        try transaction.put(index.span, Span(), in: tables.tokens)
    }

    private mutating func removeToken(
        _ kind: RowKind, key: Span<UInt8>, token old: [UInt8], in transaction: inout WriteTransaction
    ) throws(StoreError) {
        guard TokenValue.hasToken(old.span) else { return }
        var index: [UInt8] = []
        TableKey.token(kind, key, hash: TokenValue.hash(old.span), into: &index)
        contests.note(prefix: Array(TableKey.tokenPrefix(index.span)))
        try transaction.remove(index.span, in: tables.tokens)
    }

    private func read(
        _ key: Span<UInt8>, in table: Table, _ picture: borrowing Picture
    ) throws(StoreError) -> [UInt8]? {
        guard let value = try picture.value(of: key, in: table) else { return nil }
        return Array(value)
    }
}
