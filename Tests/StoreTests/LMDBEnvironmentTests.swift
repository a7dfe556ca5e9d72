import Telemetry
import Testing

@testable import Store

/// The reads and writes of an LMDB file: order, ranges, rollback, snapshots, and the growth of its map.
struct LMDBEnvironmentTests {
    private let directory = TemporaryDirectory()

    private func open(_ limits: EnvironmentLimits = EnvironmentLimits()) throws -> (LMDBEnvironment, Table) {
        let environment = try LMDBEnvironment(
            directory: directory.path, tables: ["rows", "other"], limits: limits)
        return (environment, environment.table(named: "rows"))
    }

    @Test func `committed rows are read in the byte order of their keys`() throws {
        let (environment, table) = try open()
        for key: [UInt8] in [[2], [1, 0], [1], [255, 255], [1, 255]] {
            try environment.put(key, value: key + [9], in: table)
        }
        #expect(try environment.value(of: [1, 0], in: table) == [1, 0, 9])
        #expect(try environment.value(of: [3], in: table) == nil)
        #expect(try environment.rows(of: table).map(\.key) == [[1], [1, 0], [1, 255], [2], [255, 255]])
        #expect(try environment.rows(of: environment.table(named: "other")) == [])
    }

    @Test func `an empty value is not a missing one`() throws {
        let (environment, table) = try open()
        try environment.put([1], value: [], in: table)
        #expect(try environment.value(of: [1], in: table) == [])
    }

    @Test func `a body that throws or rolls back changes nothing`() throws {
        let (environment, table) = try open()
        #expect(throws: StoreError.invalidKeySize(bytes: 0)) {
            try environment.write { transaction throws(StoreError) in
                try transaction.put([1].span, value: [1].span, in: table)
                try transaction.put([UInt8]().span, value: [1].span, in: table)
            }
        }
        let isSeenInTransaction = try environment.write { transaction throws(StoreError) in
            try transaction.put([2].span, value: [2].span, in: table)
            transaction.rollBack()
            return try transaction.snapshot.value(of: [2].span, in: table) != nil
        }
        #expect(isSeenInTransaction)
        #expect(try environment.rows(of: table) == [])
    }

    @Test func `an open snapshot is unchanged while another thread writes`() async throws {
        let (environment, table) = try open()
        try environment.put([1], value: [1], in: table)
        try environment.read { snapshot throws(StoreError) in
            let before = array(try snapshot.value(of: [1].span, in: table)!)
            runOnNewThread { #expect((try? environment.put([1], value: [2], in: table)) != nil) }
            #expect(array(try snapshot.value(of: [1].span, in: table)!) == before)
        }
        #expect(try environment.value(of: [1], in: table) == [2])
    }

    @Test(arguments: [0, EnvironmentLimits.keyBytesMax + 1, 4_096])
    func `a key without bytes or above the limit is an error`(size: Int) throws {
        let (environment, table) = try open()
        let key = [UInt8](repeating: 7, count: size)
        #expect(throws: StoreError.invalidKeySize(bytes: size)) {
            try environment.put(key, value: [1], in: table)
        }
        #expect(throws: StoreError.invalidKeySize(bytes: size)) { try environment.value(of: key, in: table) }
        try environment.put([1], value: [1], in: table)
    }

    @Test func `pages of a table follow each other without a gap, also behind the longest key`() throws {
        let (environment, table) = try open()
        let longest = [UInt8](repeating: 255, count: EnvironmentLimits.keyBytesMax)
        for key in [[1], [1, 0], [1, 1], longest, [0]] { try environment.put(key, value: [], in: table) }
        var range = KeyRange.everything
        var pages: [[[UInt8]]] = []
        var hasMore = true
        while hasMore {
            var page: [[UInt8]] = []
            hasMore = try environment.read { snapshot throws(StoreError) in
                try snapshot.readPage(of: table, range: &range, rowsMax: 2) { key, _ in
                    page.append(array(key))
                }
            }
            pages.append(page)
        }
        #expect(pages == [[[0], [1]], [[1, 0], [1, 1]], [longest]])
    }

    @Test func `a prefix finds its rows and no neighbors`() throws {
        let (environment, table) = try open()
        for key: [UInt8] in [[1, 255], [2], [2, 0], [2, 255, 255], [3], [255], [255, 255, 1]] {
            try environment.put(key, value: [], in: table)
        }
        #expect(try environment.rows(of: table, range: KeyRange(prefix: [2])).count == 3)
        #expect(try environment.rows(of: table, range: KeyRange(prefix: [1, 255])).count == 1)
        #expect(try environment.rows(of: table, range: KeyRange(prefix: [255])).count == 2)
        #expect(try environment.rows(of: table, range: KeyRange(prefix: [])).count == 7)
    }

    @Test func `the map grows under a transaction and the body runs again`() throws {
        let (environment, table) = try open(
            EnvironmentLimits(mapBytesAtStart: 1 << 20, mapBytesMax: 64 << 20))
        var runCount = 0
        try environment.write { transaction throws(StoreError) in
            runCount += 1
            for number in 0..<3000 {
                let key = Int64(number).bigEndianBytes
                try transaction.put(key.span, value: [UInt8](repeating: 1, count: 1000).span, in: table)
            }
        }
        #expect(runCount > 1)
        #expect(try environment.rows(of: table).count == 3000)
        #expect(environment.sizes.mapBytes > 1 << 20)
    }

    @Test func `a full map is an error, and smaller rows can still be written`() throws {
        let limit = 1 << 20
        let (environment, table) = try open(EnvironmentLimits(mapBytesAtStart: limit, mapBytesMax: limit))
        #expect(throws: StoreError.mapFull(path: environment.path, limit: limit)) {
            try environment.put([1], value: [UInt8](repeating: 0, count: 2 * limit), in: table)
        }
        try environment.put([1], value: [1], in: table)
        #expect(try environment.rows(of: table) == [StoredRow(key: [1], value: [1])])
    }

    @Test func `a map does not move under an open snapshot`() throws {
        let limits = EnvironmentLimits(
            mapBytesAtStart: 1 << 20, mapBytesMax: 16 << 20, readersWaitMilliseconds: 20)
        let (environment, table) = try open(limits)
        let large = [UInt8](repeating: 0, count: 2 << 20)
        try environment.read { snapshot throws(StoreError) in
            // The closure must not return the caught error, which `#expect` returns.
            _ = #expect(throws: StoreError.readersBusy(path: environment.path, milliseconds: 20)) {
                try environment.put([1], value: large, in: table)
            }
        }
        try environment.put([1], value: large, in: table)
        #expect(try environment.value(of: [1], in: table)?.count == large.count)
    }

    @Test func `a closed environment rejects calls and does not crash`() throws {
        let (environment, table) = try open()
        try environment.close()
        #expect(throws: StoreError.self) { try environment.put([1], value: [1], in: table) }
        #expect(throws: StoreError.self) { try environment.value(of: [1], in: table) }
        #expect(throws: StoreError.self) { try environment.sync() }
        #expect(environment.sizes == EnvironmentSizes())
    }

    @Test func `the applied offset is committed with its rows`() throws {
        let (environment, table) = try open()
        let applied = AppliedProgress(offset: 1 << 40, completeUntil: .init(milliseconds: 1_700_000_000_000))
        try environment.write { transaction throws(StoreError) in
            try transaction.put([1].span, value: [1].span, in: table)
            try transaction.setAppliedProgress(applied, ofTopic: "flotilla.registry", partition: 3)
        }
        try environment.write { transaction throws(StoreError) in
            try transaction.setAppliedProgress(
                AppliedProgress(offset: 7, completeUntil: applied.completeUntil),
                ofTopic: "flotilla.registry", partition: 3)
            transaction.rollBack()
        }
        try environment.read { snapshot throws(StoreError) in
            #expect(try snapshot.appliedProgress(ofTopic: "flotilla.registry", partition: 3) == applied)
            #expect(try snapshot.appliedProgress(ofTopic: "flotilla.registry", partition: 4) == nil)
        }
    }
}
