internal import JSON
internal import Kafka
internal import LiveActivity
internal import Stages
internal import Store
internal import Telemetry

/// The rows of one partition of `timers` as the transaction in hand makes them: over what is committed and not
/// read back, and over the view.
final class PartitionTimers: TimerTable {
    /// A row as it was found or made.
    private struct Entry<Row> {
        var row: Row?
        /// When the committed row has to be looked at; its entry in due order goes when that changes.
        var committedAt: Int64?
        var isChanged = false
    }

    /// Rows of an owner that one page of the view brings.
    private static let pageRows = 500
    private static let separator = UInt8(ascii: "/")

    let partition: Int32
    private let views: TopicViews
    private let lately: LatelyFired
    private let reader: JSONReader
    private let log: Log
    private var timers: [KeyBytes: Entry<TimerRow>] = [:]
    private var sends: [KeyBytes: Entry<SeenOrder>] = [:]
    /// The keys of owners whose timers are all here.
    private var owners: [[UInt8]: Set<KeyBytes>] = [:]
    /// What the overlay has, by owner; made when it is first asked for.
    private var unread: [[UInt8]: [KeyBytes]]?
    /// Set where a newer program has written what stands here.
    private(set) var newerRecord: RecordError?

    init(
        of partition: Int32, in views: TopicViews, lately: LatelyFired, reader: JSONReader, log: Log
    ) {
        self.partition = partition
        self.views = views
        self.lately = lately
        self.reader = reader
        self.log = log
    }

    /// Rows that are in memory.
    var count: Int { timers.count + sends.count }

    // MARK: What there is

    func timers(of owner: ScheduleOwner, app: String) throws(StoreError) -> [TimerRow] {
        let prefix = TimerRow.prefix(app: app, owner: owner)
        if owners[prefix] == nil { owners[prefix] = try load(prefix) }
        return owners[prefix, default: []].compactMap { timers[$0]?.row }
    }

    private func load(_ prefix: [UInt8]) throws(StoreError) -> Set<KeyBytes> {
        var keys: Set<KeyBytes> = []
        let overlay = views.overlays[partition]
        if let view = views[partition] {
            var range = KeyRange(prefix: prefix)
            var isMore = true
            while isMore {
                isMore = try view.page(&range, rows: Self.pageRows) { key, value in
                    let key = KeyBytes([UInt8](copying: key))
                    keys.insert(key)
                    guard timers[key] == nil, overlay?[key] == nil else { return }
                    enter(unsafe value.withUnsafeBytes { unsafe decode(TimerRow.self, $0) }, key)
                }
            }
        }
        for key in unreadKeys(prefix) {
            keys.insert(key)
            if timers[key] == nil, let record = overlay?[key] { enter(timer(record), key) }
        }
        for (key, entry) in timers where entry.row != nil && key.bytes.starts(with: prefix) {
            keys.insert(key)
        }
        return keys
    }

    private func enter(_ row: TimerRow?, _ key: KeyBytes) {
        timers[key] = Entry(row: row, committedAt: row?.dueAt)
    }

    private func unreadKeys(_ prefix: [UInt8]) -> [KeyBytes] {
        if unread == nil {
            var found: [[UInt8]: [KeyBytes]] = [:]
            views.overlays[partition]?.each { key, _ in
                if let prefix = Self.ownerPrefix(key.bytes) { found[prefix, default: []].append(key) }
            }
            unread = found
        }
        return unread?[prefix] ?? []
    }

    /// `app/owner/` of a timer's key; nil of a seen order's.
    private static func ownerPrefix(_ key: [UInt8]) -> [UInt8]? {
        guard let first = key.firstIndex(of: separator), first > 0,
            let second = key[(first + 1)...].firstIndex(of: separator)
        else { return nil }
        return Array(key[...second])
    }

    func timer(_ key: KeyBytes) throws(StoreError) -> TimerRow? {
        if let entry = timers[key] { return entry.row }
        let found: TimerRow? = try look(key)
        enter(found, key)
        return found
    }

    func seen(_ key: [UInt8]) throws(StoreError) -> SeenOrder? { try seen(KeyBytes(key)) }

    func seen(_ key: KeyBytes) throws(StoreError) -> SeenOrder? {
        if let entry = sends[key] { return entry.row }
        let found: SeenOrder? = try look(key)
        sends[key] = Entry(row: found, committedAt: found?.forgottenAt)
        return found
    }

    func lately(_ choice: ScheduleOrder.Choice, of owner: ScheduleOwner, app: String, at time: Int64) -> Int {
        lately.count(choice, of: owner, app: app, at: time)
    }

    // MARK: What changes

    func set(_ row: TimerRow) {
        let key = KeyBytes(row.key)
        timers[key, default: Entry()].row = row
        timers[key]?.isChanged = true
        owners[TimerRow.prefix(app: row.app, owner: row.owner)]?.insert(key)
    }

    func remove(_ row: TimerRow) { remove(KeyBytes(row.key)) }

    func remove(_ key: KeyBytes) {
        timers[key, default: Entry()].row = nil
        timers[key]?.isChanged = true
    }

    func set(_ seen: SeenOrder, key: [UInt8]) {
        let key = KeyBytes(key)
        sends[key, default: Entry()].row = seen
        sends[key]?.isChanged = true
    }

    func removeSeen(_ key: KeyBytes) {
        sends[key, default: Entry()].row = nil
        sends[key]?.isChanged = true
    }

    /// Adds the records of those that have changed, one for each.
    func write(to output: inout TimerOutput) {
        for (key, entry) in timers where entry.isChanged {
            output.add(
                entry.row, key: key, partition: partition, wakesAt: entry.row?.dueAt,
                before: entry.committedAt)
        }
        for (key, entry) in sends where entry.isChanged {
            output.add(
                entry.row, key: key, partition: partition, wakesAt: entry.row?.forgottenAt,
                before: entry.committedAt)
        }
    }

    // MARK: Reading

    private func look<Row: LiveActivity.Record>(_ key: KeyBytes) throws(StoreError) -> Row? {
        if let record = views.overlays[partition]?[key] {
            return record.isEmpty ? nil : unsafe record.withUnsafeBytes { unsafe decode(Row.self, $0) }
        }
        guard let view = views[partition] else { return nil }
        var found: Row?
        try view.read { picture throws(StoreError) in
            try view.look(key.bytes.span, picture) { value in
                found = unsafe value.withUnsafeBytes { unsafe decode(Row.self, $0) }
            }
        }
        return found
    }

    private func timer(_ record: [UInt8]) -> TimerRow? {
        record.isEmpty ? nil : unsafe record.withUnsafeBytes { unsafe decode(TimerRow.self, $0) }
    }

    private func decode<Row: LiveActivity.Record>(_ type: Row.Type, _ bytes: UnsafeRawBufferPointer) -> Row? {
        do throws(RecordError) {
            return try unsafe Row.decode(bytes, with: reader)
        } catch {
            // The sum before the value is right, so this is what the topic holds.
            if case .unknownVersion = error { newerRecord = error }
            log.error(
                "a record of timers cannot be read; its timer does not fire",
                .field("partition", partition), .field("error", error))
            return nil
        }
    }
}

extension SeenOrder {
    /// Milliseconds since 1970.
    var forgottenAt: Int64 { at + Self.keptMilliseconds }
}
