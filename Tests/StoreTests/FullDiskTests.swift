import CStoreFaults
import Glibc
import Telemetry
import Testing

@testable import Store

/// Writes that fail, at each position of a transaction in turn, and a disk that is full. `store_faults_arm(after,
/// count, error)` lets some writes of this thread succeed and the next ones fail, until `store_faults_disarm()`, which
/// returns the number of writes.
struct FullDiskTests {
    private let directory = TemporaryDirectory()

    @Test(arguments: [ENOSPC, EDQUOT, EIO])
    func `after any failed write the transaction is undone and the next one succeeds`(failure: Int32) throws {
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        var expected: [StoredRow] = []
        let rowsPerBatch = 200
        // The first byte of the key of a row that is written alone.
        let singleRow: UInt8 = 255
        var succeeded = false
        var failingWrite = 0
        while !succeeded {
            try #require(failingWrite < 100)
            store_faults_arm(Int32(failingWrite), 1, failure)
            var batch = RowBatch()
            for row in 0..<rowsPerBatch {
                let value = [UInt8](repeating: UInt8(row), count: 50)
                batch.putWithChecksum([UInt8(row), UInt8(failingWrite)].span, value: value.span)
            }
            do throws(StoreError) {
                try environment.write { transaction throws(StoreError) in
                    try transaction.apply(batch, to: table)
                }
                // The transaction has no write at this position, so all positions are tested.
                succeeded = store_faults_disarm() <= failingWrite
            } catch {
                store_faults_disarm()
                #expect(error.isTransient == (failure != EIO))
            }
            // A snapshot shows only complete transactions, and writing continues.
            try environment.put([singleRow, UInt8(failingWrite)], value: [], in: table)
            expected = try environment.rows(of: table)
            #expect(expected.filter { $0.key[0] != singleRow }.count % rowsPerBatch == 0)
            failingWrite += 1
        }
        #expect(failingWrite > 2)
        try environment.close()
        let damage = try TreeCheck.damage(in: environment.path)
        #expect(damage == nil)
        let reopened = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        #expect(try reopened.rows(of: reopened.table(named: "rows")) == expected)
    }

    @Test func `after a failed write of the meta page, reads continue too`() throws {
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        try environment.put([1], value: [1], in: table)
        // Counts the writes of a commit. The last one writes the meta page.
        store_faults_arm(1_000, 0, ENOSPC)
        try environment.put([1], value: [2], in: table)
        let writesBeforeMetaPage = store_faults_disarm() - 1
        // LMDB tries to repair the meta page with a second write.
        store_faults_arm(writesBeforeMetaPage, 2, ENOSPC)
        #expect(throws: StoreError.diskFull(path: environment.path)) {
            try environment.put([1], value: [3], in: table)
        }
        store_faults_disarm()
        #expect(try environment.value(of: [1], in: table) == [2])
        try environment.put([1], value: [4], in: table)
        #expect(try environment.value(of: [1], in: table) == [4])
    }

    @Test func `a full disk is an error, and writing continues with new space`() async {
        await #expect(processExitsWith: .success) {
            // The limit of file sizes stands for a full disk. Without this, a write above it ends the process.
            signal(SIGXFSZ, SIG_IGN)
            let directory = TemporaryDirectory()
            let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
            let table = environment.table(named: "rows")
            func limitFileSize(to bytes: UInt) {
                var limits = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
                limits.rlim_cur = bytes
                setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
            }
            limitFileSize(to: 1 << 20)
            var writtenCount = 0
            var refusalCount = 0
            while refusalCount < 3 {
                do {
                    try environment.put(
                        Int64(writtenCount).bigEndianBytes, value: [UInt8](repeating: 1, count: 3000),
                        in: table)
                    writtenCount += 1
                } catch StoreError.diskFull {
                    refusalCount += 1
                }
                precondition(writtenCount < 1_000)
            }
            let keptCount = try environment.rows(of: table).count
            precondition(keptCount == writtenCount)
            limitFileSize(to: 64 << 20)
            for number in writtenCount..<1_000 {
                try environment.put(
                    Int64(number).bigEndianBytes, value: [UInt8](repeating: 1, count: 3000), in: table)
            }
            let rowCount = try environment.rows(of: table).count
            precondition(rowCount == 1_000)
        }
    }
}
