import JSON
import Jobs
import Kafka
import Lifecycle
import ProcessTesting
import RecordFormat
import Store
import Telemetry
import Testing

@testable import Insight

/// The deletion of rows that are older than the retention.
struct ForgettingTests {
    /// Deletes all rows before a time, step by step.
    private func deleteAll(before time: Int64, in file: ReceiptFile) throws -> Int {
        var deleted = 0
        while true {
            let step = try file.deleteRows(before: time)
            deleted += step.count
            if !step.mayHaveMore { return deleted }
        }
    }

    @Test func `old rows leave every table, and young rows stay`() throws {
        let directory = try TemporaryDirectory()
        let file = try ReceiptFile(
            directory: directory.path, of: TopicPartition("receipts", 0), cluster: "cluster-1",
            limits: EnvironmentLimits(),
            boot: BootID.current(), reader: JSONReader())
        let lines = Array("phone\tupdate:a\tu:ann\n".utf8)
        // A receipt has one row in each table except the series. It is written `offset` minutes after `begin`.
        let (begin, minute): (Int64, Int64) = (1_000_000, 60_000)
        let sample = RandomDay(seed: 1).receipt
        for offset in 0..<1500 as Range<Int64> {
            var receipt = sample
            receipt.position.offset = offset
            receipt.send = "send-\(offset)"
            receipt.writtenAt = begin + offset * minute
            receipt.parts = [Receipt.Part(.accepted, lines: LineSet(all: 1))]
            let json = receipt.encoded()
            try file.add(receipt, at: offset, json: json.span, lines: lines.span)
        }
        try file.commit()
        let tables = ReceiptTable.allCases.filter { $0 != .series }
        // Of the series only periods of ten minutes are that old, one for each ten receipts.
        #expect(try deleteAll(before: begin + 600 * minute, in: file) == 600 * tables.count + 60)
        // One receipt a minute uses every sixth of the 96 slots of ten seconds.
        let tenSecondPeriods = SeriesResolution.tenSeconds.slotCount / 6
        let tenMinutePeriods = 900 / 10
        let youngPeriods = tenMinutePeriods + SeriesResolution.minute.slotCount + tenSecondPeriods
        #expect(try file.rowCount(of: .series) == youngPeriods)
        for table in tables {
            let remaining = try file.rowCount(of: table)
            #expect(remaining == 900, "\(table)")
        }
        // The same time finds nothing more, and a later time finds the rows that became old.
        #expect(try file.deleteRows(before: begin + 600 * minute) == DeletedRows())
        #expect(try deleteAll(before: begin + 700 * minute, in: file) == 100 * tables.count + 10)
        try file.close()
    }

    @Test func `a table without new records is not read again for the same time`() throws {
        let directory = try TemporaryDirectory()
        let file = try StateFile(
            directory: directory.path,
            conditions: ReuseConditions(schema: 1, origin: "here", ageMaxMilliseconds: .max),
            tables: ["rows"],
            now: .now(), boot: BootID.current())
        var sweeps = RetentionSweep()
        #expect(
            try sweeps.deleteNextPage(of: "rows", isInOrder: false, in: file, before: 10) == DeletedRows())
        // A closed file throws if it is read. The pass for time 10 is complete, so this call reads nothing.
        try file.close()
        #expect(
            try sweeps.deleteNextPage(of: "rows", isInOrder: false, in: file, before: 10) == DeletedRows())
        #expect(throws: StoreError.self) {
            try sweeps.deleteNextPage(
                of: "rows", isInOrder: false, in: file, before: 10 + RetentionSweep.passIntervalMilliseconds)
        }
    }
}
