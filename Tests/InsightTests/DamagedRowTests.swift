import CatalogRecords
import Identifiers
import JSON
import Jobs
import Lifecycle
import ProcessTesting
import RecordFormat
import Sends
import Store
import Telemetry
import Testing

@testable import Insight

/// Rows that a disk has changed, records that cannot be read, and a position that no answer has named.
struct DamagedRowTests {
    private static let rowCount = 1200

    /// Returns the key and the value of an audit entry's row.
    private static func auditRow(_ number: Int) -> (key: [UInt8], value: [UInt8]) {
        let entry = AuditEntry(at: Int64(number), author: "key", action: "send.start", app: "shop")
        var value: [UInt8] = []
        BigEndian.append(entry.at, to: &value)
        return (
            AuditRowMapping.timePrefix(app: "shop") + RowKey.newestFirst(time: entry.at),
            value + entry.encoded()
        )
    }

    private static var list: LaneQuery {
        var query = LaneQuery(.audit, app: "shop")
        query.limit = 2 * rowCount
        return query
    }

    /// Writes the rows of the audit, and opens the lane for queries.
    ///
    /// - Parameter damaged: The number of the row that gets a wrong checksum.
    private static func filledLane(damaged: Int?) throws -> FilledLane {
        let lane = try FilledLane()
        var batch = RowBatch()
        for number in 0..<rowCount {
            let (key, value) = auditRow(number)
            if number == damaged {
                batch.put(key.span, value: ([0, 0, 0, 0] + value).span)
            } else {
                batch.putWithChecksum(key.span, value: value.span)
            }
        }
        batch.sort()
        try lane.fill(.audit, table: .rows, with: batch)
        return lane
    }

    @Test func `a list without damage has all rows`() throws {
        let lane = try Self.filledLane(damaged: nil)
        let result = lane.reader.answer(Self.list, budget: QueryBudget(milliseconds: 60_000))
        #expect(result.lanes == [0] && result.audit.count == Self.rowCount)
    }

    @Test(arguments: [0, 700, rowCount - 1])
    func `a damaged row makes its lane missing, and the loop learns of the file`(damaged: Int) throws {
        let lane = try Self.filledLane(damaged: damaged)
        let result = lane.reader.answer(Self.list, budget: QueryBudget(milliseconds: 60_000))
        #expect(result.lanes.isEmpty && result.audit.isEmpty && result.cuts.isEmpty)
        #expect(lane.openLanes.takeDamage().mapValues(\.damagedTopic) == [0: .audit])
        #expect(lane.openLanes.takeDamage().isEmpty, "the loop takes each damage once")
    }

    @Test func `a query that does not read the damaged row gets its answer`() throws {
        let lane = try Self.filledLane(damaged: 0)
        var newest = Self.list
        // A list has the newest first, and this one ends long before the oldest row.
        newest.limit = 1
        #expect(lane.reader.answer(newest).audit.count == 1)
        #expect(lane.openLanes.takeDamage().isEmpty)
    }

    @Test func `a damaged receipt makes its lane missing in the list of failures`() throws {
        var receipt = RandomDay(seed: 2).receipt
        receipt.parts = [Receipt.Part(.rejected, lines: LineSet(all: 1), status: 400, reason: "BadTopic")]
        let lane = try FilledLane()
        try lane.fill(receipts: [receipt]) { _, _ in
            .init(installation: "phone", entry: "start:M", recipient: "u:ann")
        }
        var query = LaneQuery(.failures, app: receipt.app)
        (query.names, query.isOldestFirst) = ([receipt.send], true)
        #expect(lane.reader.answer(query).failures.count == 1)
        // The row of the receipt gets bytes without a valid checksum.
        var batch = RowBatch()
        var key: [UInt8] = []
        BigEndian.append(Int64(0), to: &key)
        batch.put(key.span, value: Array(repeating: 1, count: 40).span)
        try lane.write(batch, toReceipts: .receipts)
        #expect(lane.reader.answer(query).lanes.isEmpty)
        #expect(lane.openLanes.takeDamage().mapValues(\.damagedTopic) == [0: .receipts])
    }

    @Test func `damage of files that were closed is not reported to the next ones`() throws {
        let lane = try Self.filledLane(damaged: 3)
        let opened = lane.openLanes.all[0]
        lane.openLanes.remove(partition: 0)
        lane.openLanes.reportDamage(
            StoreError.changedRow(path: opened.receiptsEnvironment.path), of: opened)
        #expect(lane.openLanes.takeDamage().isEmpty)
    }

    @Test func `a record of a group that cannot be read leaves the group in the list`() throws {
        let directory = try TemporaryDirectory()
        let file = try StateFile(
            directory: directory.path,
            conditions: ReuseConditions(schema: 1, origin: "here", ageMaxMilliseconds: .max),
            tables: RowTable.allCases.map(\.rawValue), now: .now(), boot: BootID.current())
        let (rows, reader) = (PendingRows(file), JSONReader())
        let key = ScopeKey(app: "shop", group: "match").bytes
        var row = GroupRow()
        row.lastSendAt = 7
        func apply(_ value: [UInt8]?) throws -> RecordOutcome {
            try GroupRowMapping.apply(key: key, value: value, with: reader, into: rows)
        }
        func listedKey() throws -> [UInt8]? {
            try rows.value(
                of: GroupRowMapping.indexPrefix(app: "shop") + RowKey.newestFirst(time: 7)
                    + RowKey.joining("match", ""), in: .index)
        }
        #expect(try apply(row.encoded()) == .entered)
        #expect(try listedKey() == key)
        #expect(try apply(Array("no JSON".utf8)) == .unreadable)
        #expect(try listedKey() == key)
        #expect(try apply(nil) == .entered)
        #expect(try listedKey() == nil)
        try file.close()
    }

    @Test func `a list of failures goes on behind the largest possible position`() throws {
        let lane = try FilledLane()
        let receipt = RandomDay(seed: 2).receipt
        try lane.fill(receipts: [receipt]) { _, _ in
            .init(installation: "phone", entry: "start:M", recipient: "u:ann")
        }
        var query = LaneQuery(.failures, app: receipt.app)
        (query.names, query.isOldestFirst) = ([receipt.send], true)
        // The position of lane 0 with the last offset and the last line.
        var tieBreaker: [UInt8] = []
        BigEndian.append(Int32.max, to: &tieBreaker)
        query.after = ListPosition(at: 0, tieBreaker: tieBreaker + Array(repeating: 0, count: 12))
        let result = lane.reader.answer(query)
        #expect(result.lanes == [0] && result.failures.isEmpty)
    }
}
