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
    static let viewSchema = 5

    let lane: Int32
    private let views: TopicViews
    private let committed: CommittedRows
    /// The rows that the transaction writes, each with its last value, in the order of their first `set`. This is the order
    /// of a page and of the view. In another order, each piece that is read back would change all file pages of the
    /// transaction's rows.
    private var changes: [Change] = []
    private var changeIndex = KeyIndex()
    /// The scope that was read last. The page of an expansion reads its scope several times.
    private var lastScope: (key: HashedKey, scope: LaneScope?)?
    /// The key of the last lookup of a start. A start is looked up and then set.
    private var lastKey: HashedKey?
    /// The newest starts among the rows that the view has not read back. It is made at the first lookup in a
    /// transaction, because few tokens need it: nearly all of them name their group. A page has thousands of
    /// starts.
    private var newestStarts: [HashedKey: [UInt8]]?
    /// The joined activities among the rows that the view has not read back. It is made at the first lookup after a
    /// change, because activities join before pages are walked, and few groups have them.
    private var unreadJoined: UnreadJoinedActivities?

    init(lane: Int32, views: TopicViews, reader: JSONReader, log: Log) {
        self.lane = lane
        self.views = views
        committed = CommittedRows(
            partition: lane, views: views, reader: reader, log: log,
            unreadableRowMessage: "a record of starts cannot be read; its scope starts a new one")
    }

    private struct Change {
        let key: HashedKey
        var row: ChangedRow
    }

    private enum ChangedRow {
        case start(EncodedStart)
        case scope(ChangedScope)

        var record: [UInt8] {
            switch self {
            case .start(let start): start.bytes
            case .scope(let changed): changed.record
            }
        }
    }

    private final class ChangedScope {
        let scope: LaneScope
        /// Encoded after the last change.
        private(set) lazy var record = scope.encoded()

        init(_ scope: LaneScope) { self.scope = scope }
    }

    /// The error of a row that a newer program version wrote, if there was one.
    var newerRecord: RecordDecodingError? { committed.newerRecord }
    var isUnchanged: Bool { changes.isEmpty }

    // MARK: Scopes

    func scope(for key: [UInt8]) throws(StoreError) -> LaneScope? {
        if let lastScope, lastScope.key.bytes == key { return lastScope.scope }
        let key = Self.topicKey(for: key)
        let scope: LaneScope? =
            if case .scope(let changed)? = change(of: key) { changed.scope } else {
                try committed.row(for: key)
            }
        lastScope = (key, scope)
        return scope
    }

    func set(_ scope: LaneScope, under key: [UInt8]) {
        let key =
            if let lastScope, lastScope.key.bytes == key { lastScope.key } else { Self.topicKey(for: key) }
        lastScope = (key, scope)
        set(.scope(ChangedScope(scope)), under: key)
        if scope.joinedGroup != nil { unreadJoined = nil }
    }

    func joinedActivities(
        of group: ScopeKey, in range: KeyRange, countMax: Int
    ) throws(StoreError) -> [JoinedActivity] {
        let unread = unreadJoined ?? findUnreadJoined()
        unreadJoined = unread
        return try unread.activities(of: group, in: range, countMax: countMax, with: views[lane])
    }

    private func findUnreadJoined() -> UnreadJoinedActivities {
        var found = UnreadJoinedActivities()
        views.overlays[lane]?.forEachRow { key, record in found.insert(record, under: key) }
        for change in changes {
            if case .scope(let changed) = change.row, changed.scope.joinedGroup != nil {
                found.insert(changed.record, under: change.key)
            }
        }
        return found
    }

    // MARK: Starts

    func start(for key: [UInt8]) throws(StoreError) -> LedgerRow? {
        let key = Self.topicKey(for: key)
        if case .start(let changed)? = change(of: key) { return changed.row }
        return try committed.row(for: key)
    }

    func hasStart(for key: [UInt8]) throws(StoreError) -> Bool {
        let key = Self.topicKey(for: key)
        lastKey = key
        if change(of: key) != nil { return true }
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
        guard let view = views[lane] else { return found?.key }
        try view.withSnapshot { snapshot throws(StoreError) in
            try view.lookUp(key.bytes.span, in: snapshot) { value in
                guard let older = NewestStart.decode(value), older.at > found?.at ?? .min else { return }
                found = older
            }
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

    func set(_ start: LedgerRow, under key: [UInt8]) { set(start: EncodedStart(start), under: key) }

    func set(start: EncodedStart, under key: [UInt8]) {
        let key = if let lastKey, lastKey.bytes == key { lastKey } else { Self.topicKey(for: key) }
        set(.start(start), under: key)
    }

    // MARK: Changes

    private func change(of key: HashedKey) -> ChangedRow? { changeNumber(of: key).map { changes[$0].row } }

    private func changeNumber(of key: HashedKey) -> Int? {
        changeIndex.number(hash: key.hash) { changes[$0].key == key }
    }

    private func set(_ row: ChangedRow, under key: HashedKey) {
        if let number = changeNumber(of: key) {
            changes[number].row = row
        } else {
            changeIndex.insert(changes.count, hash: key.hash)
            changes.append(Change(key: key, row: row))
        }
    }

    /// Drops the changes, after a commit or before the transaction is repeated.
    func removeChanges() {
        changes.removeAll(keepingCapacity: true)
        changeIndex.removeAll()
        lastScope = nil
        newestStarts = nil
        unreadJoined = nil
    }

    /// The number of rows that the transaction writes.
    var changeCount: Int { changes.count }

    func changedRecord(at number: Int) -> (key: HashedKey, value: [UInt8]) {
        (changes[number].key, changes[number].row.record)
    }

    /// Moves the committed changes to the overlay. It holds them until the view has read them back.
    func commit(at now: Instant) {
        views.changeOverlay(of: lane) { overlay in
            for change in changes { overlay.recordCommit(of: change.key, as: change.row.record, at: now) }
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
}
