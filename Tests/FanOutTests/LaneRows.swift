import CatalogRecords
import FanOut
import Identifiers
import JSON
import RecordFormat
import Sends
import Store

/// A lane's rows of `starts` in memory, as bytes. The bytes equal those of a record.
struct LaneRows: ScopeTable {
    var rows: [[UInt8]: [UInt8]] = [:]
    /// The records written since the last transaction, in order.
    var written: [(key: [UInt8], value: [UInt8])] = []
    private var newest: [String: (at: Int64, key: [UInt8])] = [:]

    init() {}

    init(replaying records: [(key: [UInt8], value: [UInt8])]) {
        for record in records { apply(record.key, record.value) }
    }

    func scope(for key: [UInt8]) throws(StoreError) -> LaneScope? {
        rows[key].map { row in surely { try LaneScope.decode(row, with: JSONReader()) } }
    }

    func start(for key: [UInt8]) throws(StoreError) -> LedgerRow? {
        rows[key].map { row in surely { try LedgerRow.decode(row, with: JSONReader()) } }
    }

    func hasStart(for key: [UInt8]) throws(StoreError) -> Bool { rows[key] != nil }

    func newestStart(
        app: String, recipient: Recipient, installation: String, type: String
    ) throws(StoreError) -> LedgerKey? {
        newest["\(app)/\(recipient.text)/\(installation)/\(type)"].flatMap { LedgerKey(bytes: $0.key) }
    }

    /// Looks at all rows, so that an index cannot lose one.
    func joinedActivities(
        of group: ScopeKey, in range: KeyRange, countMax: Int
    ) throws(StoreError) -> [JoinedActivity] {
        var positions: [[UInt8]] = []
        for key in rows.keys where LedgerKey(bytes: key) == nil {
            guard let scope = key.withUnsafeBytes({ ScopeKey(bytes: $0) }),
                case .activity(let activity) = scope.subject,
                try self.scope(for: key)?.joinedGroup == group
            else { continue }
            positions.append(JoinedActivity(id: activity).position)
        }
        positions.removeAll { position in
            position.lexicographicallyPrecedes(range.lower)
                || range.upper.map { !position.lexicographicallyPrecedes($0) } ?? false
        }
        return positions.sorted { $0.lexicographicallyPrecedes($1) }.prefix(countMax).map {
            JoinedActivity(position: $0)
        }
    }

    mutating func set(_ scope: LaneScope, under key: [UInt8]) { write(key, scope.encoded()) }
    mutating func set(_ start: LedgerRow, under key: [UInt8]) { write(key, start.encoded()) }
    mutating func set(start: EncodedStart, under key: [UInt8]) { write(key, start.bytes) }

    private mutating func write(_ key: [UInt8], _ value: [UInt8]) {
        written.append((key, value))
        apply(key, value)
    }

    private mutating func apply(_ key: [UInt8], _ value: [UInt8]) {
        rows[key] = value
        guard let start = LedgerKey(bytes: key), start.generation > 0,
            let row = try? LedgerRow.decode(value, with: JSONReader()), row.safetyEndVersion == 0
        else { return }
        let name = "\(start.app)/\(start.recipient.text)/\(start.installation)/\(row.type)"
        newest[name] = (row.startedAt, key)
    }
}

/// Returns the result of `body`. It cannot fail, because the tests have written the data themselves.
func surely<T>(_ body: () throws -> T) -> T {
    do { return try body() } catch { fatalError("\(error)") }
}

/// A catalog of one app.
struct OneApp: ExpanderCatalog {
    var app = shop
    var segments: [String: SegmentRule] = [:]

    func app(_ id: String) -> App? { id == app.id ? app : nil }
    func segment(_ name: String, of app: String) -> SegmentRule? { segments[name] }
}
