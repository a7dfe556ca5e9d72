internal import Cryptography
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry

/// The rows of `starts` of a lane as the current transaction changes them, on top of the committed rows.
final class StartsTable: LaneTable {
    /// The version of the layout of the views' files. Files with another version are rebuilt.
    static let viewSchema = 3

    let lane: Int32
    private let views: TopicViews
    /// The cache of decoded scopes that all lanes share.
    private let decoded: DecodedRecords<LaneScope>
    private let reader: JSONReader
    private let log: Log
    /// The starts that the transaction writes, with the last value of each key, in the order of their first
    /// `set`. This is the order of a page and of the view. In another order, each piece that is read back
    /// would change all file pages of the transaction's rows.
    private var changed: [ChangedStart] = []
    private var changedNumbers = KeyIndex()
    /// The scopes that the transaction writes, in the order of their first `set`. Lanes that handle the sends
    /// of a group one after another write equal scopes.
    private var scopes: [ChangedScope] = []
    private var scopeNumbers: [KeyBytes: Int] = [:]
    /// The current scope. The page of an expansion reads and sets its scope several times.
    private var inHand: ScopeInHand?
    /// The error of a row that a newer program version wrote, if there was one.
    private(set) var newerRecord: RecordError?
    /// The key of the last lookup. A start is looked up and then set.
    private var asked: KeyBytes?
    /// The newest starts among the rows that the view has not read back. It is made at the first lookup in a
    /// transaction, because few tokens need it: nearly all of them name their group. A page has thousands of
    /// starts.
    private var newest: [KeyBytes: [UInt8]]?

    init(
        of lane: Int32, in views: TopicViews, decoded: DecodedRecords<LaneScope>, reader: JSONReader, log: Log
    ) {
        self.decoded = decoded
        self.lane = lane
        self.views = views
        self.reader = reader
        self.log = log
    }

    fileprivate struct ChangedStart {
        let key: KeyBytes
        var record: [UInt8]
    }

    fileprivate struct ChangedScope {
        let key: KeyBytes
        var scope: LaneScope
        /// Empty until it is encoded.
        var record: [UInt8] = []
    }

    private struct ScopeInHand {
        let key: KeyBytes
        var scope: LaneScope?
        var isChanged = false
    }

    var isUnchanged: Bool { changed.isEmpty && scopes.isEmpty && inHand?.isChanged != true }

    func scope(_ key: [UInt8]) throws(StoreError) -> LaneScope? {
        if let inHand, inHand.key.bytes == key { return inHand.scope }
        putDown()
        let key = Self.stored(key)
        let scope: LaneScope? =
            if let number = scopeNumbers[key] {
                scopes[number].scope
            } else {
                try look(key) { value throws(RecordError) in
                    try decoded.value(of: value, decode: decode)
                }
            }
        inHand = ScopeInHand(key: key, scope: scope)
        return scope
    }

    private func putDown() {
        guard let last = inHand else { return }
        inHand = nil
        guard last.isChanged, let scope = last.scope else { return }
        if let number = scopeNumbers[last.key] {
            scopes[number].scope = scope
        } else {
            scopeNumbers[last.key] = scopes.count
            scopes.append(ChangedScope(key: last.key, scope: scope))
        }
    }

    func start(_ key: [UInt8]) throws(StoreError) -> LedgerRow? { try look(Self.stored(key), decode) }

    func hasStart(_ key: [UInt8]) throws(StoreError) -> Bool {
        let key = Self.stored(key)
        asked = key
        if changedNumber(of: key) != nil { return true }
        if let value = views.overlays[lane]?[key] { return !value.isEmpty }
        return try views[lane]?.has(key.bytes.span) ?? false
    }

    func newestStart(
        app: String, recipient: Recipient, installation: String, type: String
    ) throws(StoreError) -> LedgerKey? {
        let key = KeyBytes(
            NewestStart.key(app: app, recipient: recipient, installation: installation, type: type))
        if newest == nil { newest = findNewest() }
        var found = newest?[key].flatMap { NewestStart.read($0.span) }
        try lookInView(key) { value in
            guard let older = NewestStart.read(value), older.at > found?.at ?? .min else { return }
            found = older
        }
        return found?.key
    }

    private func findNewest() -> [KeyBytes: [UInt8]] {
        var newest: [KeyBytes: [UInt8]] = [:]
        views.overlays[lane]?.each { key, record in
            guard let row = NewestStart.row(of: key.bytes.span, record.span) else { return }
            let name = KeyBytes(row.key)
            if let known = newest[name], !NewestStart.isNewer(row.value, than: known) { return }
            newest[name] = row.value
        }
        return newest
    }

    func set(_ scope: LaneScope, under key: [UInt8]) {
        if inHand?.key.bytes != key {
            putDown()
            inHand = ScopeInHand(key: Self.stored(key))
        }
        inHand?.scope = scope
        inHand?.isChanged = true
    }

    func set(_ start: LedgerRow, under key: [UInt8]) { set(start: EncodedStart(start), under: key) }

    func set(start: EncodedStart, under key: [UInt8]) {
        let key = if let asked, asked.bytes == key { asked } else { Self.stored(key) }
        if let number = changedNumber(of: key) {
            changed[number].record = start.bytes
        } else {
            changedNumbers.insert(changed.count, key.hash)
            changed.append(ChangedStart(key: key, record: start.bytes))
        }
    }

    private func changedNumber(of key: KeyBytes) -> Int? {
        changedNumbers.number(key.hash) { changed[$0].key == key }
    }

    /// Drops the changes, after a commit or before the transaction is repeated.
    func removeChanges() {
        changed.removeAll(keepingCapacity: true)
        changedNumbers.removeAll()
        scopes.removeAll(keepingCapacity: true)
        scopeNumbers.removeAll(keepingCapacity: true)
        inHand = nil
        newest = nil
    }

    /// Encodes the scopes after the last change, before they are written.
    func encodeScopes(with encoded: inout EncodedScopes) {
        putDown()
        for number in scopes.indices {
            scopes[number].record = encoded.record(of: scopes[number].scope, under: scopes[number].key)
        }
    }

    /// The records to write, after `encodeScopes`.
    var records: Records { Records(starts: changed.makeIterator(), scopes: scopes.makeIterator()) }

    struct Records: IteratorProtocol {
        fileprivate var starts: IndexingIterator<[ChangedStart]>
        fileprivate var scopes: IndexingIterator<[ChangedScope]>

        mutating func next() -> (key: KeyBytes, value: [UInt8])? {
            if let scope = scopes.next() { return (scope.key, scope.record) }
            return starts.next().map { ($0.key, $0.record) }
        }
    }

    /// Moves the committed changes to the overlay. It holds them until the view has read them back.
    func commit(at now: Instant) {
        views.change(lane) { overlay in
            for start in changed { overlay.committed(start.key, start.record, at: now) }
            for scope in scopes { overlay.committed(scope.key, scope.record, at: now) }
        }
        removeChanges()
    }

    /// Returns the key in the topic. A key that is too long for a view is replaced by its digest. No other
    /// key has that form.
    static func stored(_ key: [UInt8]) -> KeyBytes {
        // Copy the exact bytes. Callers make all keys in one buffer. A shared buffer would be allocated again
        // for each key, slightly larger each time, and thousands of keys would take kilobytes each.
        if key.count <= StartsOrder.keyBytesMax { return KeyBytes([UInt8](copying: key.span)) }
        return KeyBytes(RecordKey.join("", "", Hex.text(SHA256.digest(key))))
    }

    private func decode<Row: LiveActivity.Record>(_ value: Span<UInt8>) throws(RecordError) -> Row {
        try unsafe value.withUnsafeBytes { bytes throws(RecordError) in
            try unsafe Row.decode(bytes, with: reader)
        }
    }

    private func look<Row>(
        _ key: KeyBytes, _ decode: (Span<UInt8>) throws(RecordError) -> Row
    ) throws(StoreError) -> Row? {
        var found: Row?
        try look(key) { value in
            do throws(RecordError) {
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
    private func look(_ key: KeyBytes, _ found: (Span<UInt8>) -> Void) throws(StoreError) {
        if let number = changedNumber(of: key) {
            let record = changed[number].record
            return found(record.span)
        }
        if let value = views.overlays[lane]?[key] {
            if !value.isEmpty { found(value.span) }
            return
        }
        try lookInView(key, found)
    }

    private func lookInView(_ key: KeyBytes, _ found: (Span<UInt8>) -> Void) throws(StoreError) {
        guard let view = views[lane] else { return }
        try view.read { picture throws(StoreError) in try view.look(key.bytes.span, in: picture, found) }
    }
}
