internal import Cryptography
internal import Identifiers
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Sends
internal import StageSupport
internal import Store
internal import Telemetry

/// The rows of `starts` of a lane as the current transaction changes them, on top of the committed rows.
final class TransactionScopes: ScopeTable {
    /// The version of the layout of the views' files. Files with another version are rebuilt.
    static let viewSchema = 4

    let lane: Int32
    private let views: TopicViews
    /// The cache of decoded scopes that all lanes share.
    private let scopeCache: DecodedRecordCache<LaneScope>
    private let reader: JSONReader
    private let log: Log
    /// The starts that the transaction writes, with the last value of each key, in the order of their first
    /// `set`. This is the order of a page and of the view. In another order, each piece that is read back
    /// would change all file pages of the transaction's rows.
    private var changedStarts: [ChangedStart] = []
    private var changedStartIndex = KeyIndex()
    /// The scopes that the transaction writes, in the order of their first `set`. Lanes that handle the sends
    /// of a group one after another write equal scopes.
    private var changedScopes: [ChangedScope] = []
    private var scopeIndices: [HashedKey: Int] = [:]
    /// The current scope. The page of an expansion reads and sets its scope several times.
    private var currentScope: CurrentScope?
    /// The error of a row that a newer program version wrote, if there was one.
    private(set) var newerRecord: RecordDecodingError?
    /// The key of the last lookup. A start is looked up and then set.
    private var lastKey: HashedKey?
    /// The newest starts among the rows that the view has not read back. It is made at the first lookup in a
    /// transaction, because few tokens need it: nearly all of them name their group. A page has thousands of
    /// starts.
    private var newestStarts: [HashedKey: [UInt8]]?
    /// The index rows of changed scopes, also of committed ones, until the view has them.
    private var unreadIndex = UnreadGroupIndex()

    init(
        lane: Int32, views: TopicViews, scopeCache: DecodedRecordCache<LaneScope>, reader: JSONReader,
        log: Log
    ) {
        self.scopeCache = scopeCache
        self.lane = lane
        self.views = views
        self.reader = reader
        self.log = log
    }

    fileprivate struct ChangedStart {
        let key: HashedKey
        var record: [UInt8]
    }

    fileprivate struct ChangedScope {
        let key: HashedKey
        var scope: LaneScope
        /// Empty until it is encoded.
        var record: [UInt8] = []
    }

    private struct CurrentScope {
        let key: HashedKey
        var scope: LaneScope?
        var isChanged = false
    }

    var isUnchanged: Bool {
        changedStarts.isEmpty && changedScopes.isEmpty && currentScope?.isChanged != true
    }

    func scope(for key: [UInt8]) throws(StoreError) -> LaneScope? {
        if let currentScope, currentScope.key.bytes == key { return currentScope.scope }
        storeCurrentScope()
        let key = Self.topicKey(for: key)
        let scope: LaneScope? =
            if let number = scopeIndices[key] {
                changedScopes[number].scope
            } else {
                try lookUp(key) { value throws(RecordDecodingError) in
                    try scopeCache.value(of: value, decode: decode)
                }
            }
        currentScope = CurrentScope(key: key, scope: scope)
        return scope
    }

    private func storeCurrentScope() {
        guard let last = currentScope else { return }
        currentScope = nil
        guard last.isChanged, let scope = last.scope else { return }
        if let number = scopeIndices[last.key] {
            changedScopes[number].scope = scope
        } else {
            scopeIndices[last.key] = changedScopes.count
            changedScopes.append(ChangedScope(key: last.key, scope: scope))
        }
        addToIndex(scope, under: last.key)
    }

    /// A group's scope is in no index, and its key has the fewest slashes.
    private func addToIndex(_ scope: LaneScope, under key: HashedKey) {
        guard let scopeKey = unsafe key.bytes.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }),
            let row = GroupIndex.Row(scope, under: scopeKey)
        else { return }
        let overlay = views.overlays[lane]
        unreadIndex.insert(row, of: key) { scopeIndices[$0] != nil || overlay?[$0] != nil }
    }

    func indexEntries(
        _ kind: GroupIndex.Kind, of group: ScopeKey, in range: KeyRange, countMax: Int
    ) throws(StoreError) -> [GroupIndex.Entry] {
        storeCurrentScope()
        return try unreadIndex.entries(
            of: kind, in: group, range: range, countMax: countMax, with: views[lane])
    }

    func start(for key: [UInt8]) throws(StoreError) -> LedgerRow? {
        try lookUp(Self.topicKey(for: key), decode: decode)
    }

    func hasStart(for key: [UInt8]) throws(StoreError) -> Bool {
        let key = Self.topicKey(for: key)
        lastKey = key
        if changedIndex(of: key) != nil { return true }
        if let value = views.overlays[lane]?[key] { return !value.isEmpty }
        return try views[lane]?.contains(key.bytes.span) ?? false
    }

    func newestStart(
        app: String, recipient: Recipient, installation: String, type: String
    ) throws(StoreError) -> LedgerKey? {
        let key = HashedKey(
            NewestStart.key(app: app, recipient: recipient, installation: installation, type: type))
        if newestStarts == nil { newestStarts = findNewestStarts() }
        var found = newestStarts?[key].flatMap { NewestStart.decode($0.span) }
        try lookUpInView(key) { value in
            guard let older = NewestStart.decode(value), older.at > found?.at ?? .min else { return }
            found = older
        }
        return found?.key
    }

    private func findNewestStarts() -> [HashedKey: [UInt8]] {
        var found: [HashedKey: [UInt8]] = [:]
        guard let overlay = views.overlays[lane] else { return found }
        overlay.forEachRow { key, record in
            guard let row = NewestStart.row(forKey: key.bytes.span, value: record.span) else { return }
            let name = HashedKey(row.key)
            if let known = found[name], !NewestStart.isNewer(row.value, than: known) { return }
            found[name] = row.value
        }
        return found
    }

    func set(_ scope: LaneScope, under key: [UInt8]) {
        if currentScope?.key.bytes != key {
            storeCurrentScope()
            currentScope = CurrentScope(key: Self.topicKey(for: key))
        }
        currentScope?.scope = scope
        currentScope?.isChanged = true
    }

    func set(_ start: LedgerRow, under key: [UInt8]) { set(start: EncodedStart(start), under: key) }

    func set(start: EncodedStart, under key: [UInt8]) {
        let key = if let lastKey, lastKey.bytes == key { lastKey } else { Self.topicKey(for: key) }
        if let number = changedIndex(of: key) {
            changedStarts[number].record = start.bytes
        } else {
            changedStartIndex.insert(changedStarts.count, hash: key.hash)
            changedStarts.append(ChangedStart(key: key, record: start.bytes))
        }
    }

    private func changedIndex(of key: HashedKey) -> Int? {
        changedStartIndex.number(hash: key.hash) { changedStarts[$0].key == key }
    }

    /// Drops the changes, after a commit or before the transaction is repeated.
    func removeChanges() {
        changedStarts.removeAll(keepingCapacity: true)
        changedStartIndex.removeAll()
        changedScopes.removeAll(keepingCapacity: true)
        scopeIndices.removeAll(keepingCapacity: true)
        currentScope = nil
        newestStarts = nil
    }

    /// Encodes the scopes after the last change, before they are written.
    func encodeScopes(with encoded: inout EncodedScopeCache) {
        storeCurrentScope()
        for number in changedScopes.indices {
            changedScopes[number].record = encoded.record(
                of: changedScopes[number].scope, under: changedScopes[number].key)
        }
    }

    /// The records to write, after `encodeScopes`.
    var records: Records {
        Records(starts: changedStarts.makeIterator(), scopes: changedScopes.makeIterator())
    }

    struct Records: IteratorProtocol {
        fileprivate var starts: IndexingIterator<[ChangedStart]>
        fileprivate var scopes: IndexingIterator<[ChangedScope]>

        mutating func next() -> (key: HashedKey, value: [UInt8])? {
            if let scope = scopes.next() { return (scope.key, scope.record) }
            return starts.next().map { ($0.key, $0.record) }
        }
    }

    /// Moves the committed changes to the overlay. It holds them until the view has read them back.
    func commit(at now: Instant) {
        views.changeOverlay(of: lane) { overlay in
            for start in changedStarts { overlay.recordCommit(of: start.key, as: start.record, at: now) }
            for scope in changedScopes { overlay.recordCommit(of: scope.key, as: scope.record, at: now) }
        }
        removeChanges()
    }

    /// Returns the key in the topic. A key that is too long for a view is replaced by its digest. No other
    /// key has that form.
    static func topicKey(for key: [UInt8]) -> HashedKey {
        // Copy the exact bytes. Callers make all keys in one buffer. A shared buffer would be allocated again
        // for each key, slightly larger each time, and thousands of keys would take kilobytes each.
        if key.count <= ScopesRowOrder.keyBytesMax { return HashedKey([UInt8](copying: key.span)) }
        return HashedKey(RecordKey.join("", "", Hex.text(of: SHA256.digest(of: key))))
    }

    private func decode<Row: JSONRecord>(_ value: Span<UInt8>) throws(RecordDecodingError) -> Row {
        try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe Row.decode(bytes, with: reader)
        }
    }

    private func lookUp<Row>(
        _ key: HashedKey, decode: (Span<UInt8>) throws(RecordDecodingError) -> Row
    ) throws(StoreError) -> Row? {
        var found: Row?
        try lookUp(key) { value in
            do throws(RecordDecodingError) {
                found = try decode(value)
            } catch {
                // The row's checksum is right, so the topic holds exactly this value.
                if case .unknownVersion = error { newerRecord = error }
                log.error(
                    "a record of starts cannot be read; its scope starts a new one", .field("lane", lane),
                    .field("error", error))
            }
        }
        return found
    }

    /// Calls `found` with the row, if there is one.
    private func lookUp(_ key: HashedKey, found: (Span<UInt8>) -> Void) throws(StoreError) {
        if let number = changedIndex(of: key) {
            let record = changedStarts[number].record
            return found(record.span)
        }
        if let value = views.overlays[lane]?[key] {
            if !value.isEmpty { found(value.span) }
            return
        }
        try lookUpInView(key, found: found)
    }

    private func lookUpInView(_ key: HashedKey, found: (Span<UInt8>) -> Void) throws(StoreError) {
        guard let view = views[lane] else { return }
        try view.withSnapshot { picture throws(StoreError) in
            try view.lookUp(key.bytes.span, in: picture, found: found)
        }
    }
}
