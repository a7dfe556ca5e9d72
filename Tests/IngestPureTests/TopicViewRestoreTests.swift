import Lifecycle
import ProcessTesting
import Simulation
import StageSupport
import Store
import Telemetry
import Testing

/// Compares a view that sorts all rows before it writes them with a model, across the end of its process.
struct TopicViewRestoreTests {
    private struct Record {
        var key: [UInt8]
        var value: [UInt8]?
    }

    /// - Parameter sortsInMemory: Whether all rows are sorted in memory. Otherwise only a few rows fit into memory, and
    ///   the view merges sorted runs.
    private func openView(_ directory: String, sortsInMemory: Bool = true) throws -> TopicView {
        var definition = TopicViewDefinition(topic: "rows", table: "rows", schema: 1)
        definition.derive = Self.derive
        return try TopicView(
            definition: definition, partition: 0, directory: directory, cluster: "here",
            deleteRetentionMilliseconds: .max, limits: EnvironmentLimits(), now: .now(), boot: BootID("boot"),
            restoreBytesMax: sortsInMemory ? 1 << 20 : 500)
    }

    /// Makes a second row for a key, which several keys share.
    @Sendable
    private static func derive(_ key: Span<UInt8>, _ value: Span<UInt8>, _ row: inout DerivedRow) -> Bool {
        row.key = [0xFF, key[0]]
        row.value = (0..<value.count).map { value[$0] }
        return true
    }

    private func records(_ count: Int, using random: inout SeededGenerator) -> [Record] {
        (0..<count).map { _ in
            Record(
                key: random.bytes(count: 1...2).map { $0 % 30 },
                value: random.number(below: 4) == 0 ? nil : random.bytes(count: 1...20))
        }
    }

    /// Returns the rows that the topic's records make.
    private func model(of records: some Sequence<Record>) -> [[UInt8]: [UInt8]] {
        var rows: [[UInt8]: [UInt8]] = [:]
        for record in records {
            rows[record.key] = record.value
            if let value = record.value { rows[[0xFF, record.key[0]]] = value }
        }
        return rows
    }

    private func rows(of view: TopicView) throws -> [[UInt8]: [UInt8]] {
        var rows: [[UInt8]: [UInt8]] = [:]
        var range = KeyRange.everything
        _ = try view.readPage(of: &range, rows: 100_000) { key, value in
            rows[(0..<key.count).map { key[$0] }] = (0..<value.count).map { value[$0] }
        }
        return rows
    }

    private func give(_ records: ArraySlice<Record>, to view: TopicView) throws {
        for (offset, record) in zip(records.indices, records) {
            if let value = record.value {
                try view.buffer(key: record.key.span, value: value.span, offset: Int64(offset), timestamp: 1)
            } else {
                try view.buffer(key: record.key.span, value: nil, offset: Int64(offset), timestamp: 1)
            }
        }
    }

    @Test(arguments: [true, false])
    func `an empty view has all rows at the end of the topic, and none before`(sortsInMemory: Bool) throws {
        for seed in 1...UInt64(trialCount(base: 20)) {
            var random = SeededGenerator(seed: seed)
            let directory = try TemporaryDirectory()
            let records = records(random.number(below: 400), using: &random)
            let middle = random.number(below: records.count + 1)
            let view = try openView(directory.path, sortsInMemory: sortsInMemory)
            try give(records[..<middle], to: view)
            try view.writePendingRows { _ in }
            #expect(try rows(of: view).isEmpty && view.appliedOffset == 0 && view.isRestoring)
            // The loop starts over and reads the topic again from its beginning.
            try give(records[...], to: view)
            view.advance(to: Int64(records.count), now: .now())
            try view.writePendingRows { _ in }
            #expect(!view.isRestoring && view.appliedOffset == Int64(records.count))
            #expect(try rows(of: view) == model(of: records), "seed \(seed)")
            // The view then works like any other.
            let allRecords = records + self.records(50, using: &random)
            try give(allRecords[records.count...], to: view)
            try view.writePendingRows { _ in }
            #expect(try rows(of: view) == model(of: allRecords), "seed \(seed)")
            try view.close()
            let reopened = try openView(directory.path)
            #expect(!reopened.isRestoring && reopened.appliedOffset == Int64(allRecords.count))
            #expect(try rows(of: reopened) == model(of: allRecords), "seed \(seed)")
            try reopened.close()
        }
    }

    @Test func `a view whose restore was not finished begins again, also with rows in its file`() throws {
        var random = SeededGenerator(seed: 11)
        let directory = try TemporaryDirectory()
        let view = try openView(directory.path)
        try give(records(100, using: &random)[...], to: view)
        try view.close()
        // The process died after it had written some rows, and before it wrote the offset.
        let file = try StateFile(
            directory: directory.path,
            conditions: ReuseConditions(schema: 1, origin: "here rows-0", ageMaxMilliseconds: .max),
            tables: ["rows"], now: .now(), boot: BootID("boot"))
        let table = file.table(named: "rows")
        try file.write { transaction throws(StoreError) in
            try transaction.put([77, 77].span, value: [1].span, in: table)
        }
        try file.close()
        let reopened = try openView(directory.path)
        #expect(reopened.isRestoring && reopened.appliedOffset == 0)
        let records = records(200, using: &random)
        try give(records[...], to: reopened)
        reopened.advance(to: 200, now: .now())
        try reopened.writePendingRows { _ in }
        #expect(try rows(of: reopened) == model(of: records))
        try reopened.close()
    }
}
