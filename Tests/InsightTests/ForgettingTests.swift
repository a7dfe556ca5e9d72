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

struct ForgettingTests {
    @Test func `old rows leave every table, and young rows stay`() throws {
        let directory = try TemporaryDirectory()
        let file = try ReceiptFile(
            directory: directory.path, of: TopicPartition("receipts", 0), cluster: "here",
            limits: EnvironmentLimits(),
            boot: BootID.current(), reader: JSONReader())
        let lines = Array("phone\tupdate:a\tu:ann\n".utf8)
        for offset in 0..<1500 as Range<Int64> {
            var receipt = RandomDay(seed: 1).receipt
            receipt.position.offset = offset
            receipt.send = "send-\(offset)"
            receipt.writtenAt = 1_000_000 + offset
            receipt.parts = [Receipt.Part(.accepted, lines: LineSet(all: 1))]
            let json = receipt.encoded()
            try file.add(receipt, at: offset, json: json.span, lines: lines.span)
        }
        try file.commit()
        var forgotten = 0
        for _ in 0..<10 { forgotten += try file.deleteRows(before: 1_000_600) }
        #expect(forgotten == 600 * ReceiptTable.allCases.count)
        for table in ReceiptTable.allCases {
            let left = try file.rowCount(of: table)
            #expect(left == 900, "\(table)")
        }
        // The same time finds nothing more, and a later time finds the rows that became old.
        #expect(try file.deleteRows(before: 1_000_600) == 0)
        forgotten = 0
        for _ in 0..<10 { forgotten += try file.deleteRows(before: 1_000_700) }
        #expect(forgotten == 100 * ReceiptTable.allCases.count)
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
        #expect(try sweeps.deleteNextPage(of: "rows", isInOrder: false, in: file, before: 10) == 0)
        try file.close()
        #expect(try sweeps.deleteNextPage(of: "rows", isInOrder: false, in: file, before: 10) == 0)
        #expect(throws: StoreError.self) {
            try sweeps.deleteNextPage(of: "rows", isInOrder: false, in: file, before: 11)
        }
    }
}
