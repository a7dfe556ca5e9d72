import CStoreFaults
import Foundation
import Lifecycle
import Telemetry
import Testing

@testable import Store

/// The opening of a lane's file: when it is resumed, and when it is discarded and starts empty. The mark, a small file
/// beside the data, says who wrote the data and whether it was closed. `BootID` tells a reboot from a killed process.
struct StateFileTests {
    private let directory = TemporaryDirectory()
    private let boot = BootID("boot-1")
    private let dayMilliseconds: Int64 = 86_400_000
    private let start = WallTime(milliseconds: 1_700_000_000_000)

    private func open(
        schema: Int = 1, origin: String = "cluster/registry/3", now: WallTime? = nil, boot: BootID? = nil
    ) throws -> StateFile {
        try StateFile(
            directory: directory.path + "/state",
            conditions: ReuseConditions(schema: schema, origin: origin, ageMaxMilliseconds: dayMilliseconds),
            tables: ["rows"], now: now ?? start, boot: boot ?? self.boot)
    }

    /// Commits one row, with progress that is complete until `start`.
    private func commit(_ file: StateFile) throws {
        let table = file.table(named: "rows")
        try file.write { transaction throws(StoreError) in
            try transaction.put([1].span, value: [1].span, in: table)
            let applied = AppliedProgress(offset: 5, completeUntil: start)
            try transaction.setAppliedProgress(applied, ofTopic: "registry", partition: 3)
        }
    }

    private func rowCount(of file: StateFile) throws -> Int {
        try file.environment.rows(of: file.table(named: "rows")).count
    }

    /// Opens the file, and leaves it in the state of a killed process: the object ends without `close`.
    private func openAndDie(now: WallTime? = nil, _ run: (StateFile) throws -> Void = { _ in }) throws {
        try run(try open(now: now))
    }

    @Test func `a new directory has an empty file`() throws {
        #expect(try open().openingState == .empty)
    }

    @Test func `after a clean close the file is resumed, also after a reboot`() throws {
        let file = try open()
        try commit(file)
        try file.close()
        let reopened = try open(boot: BootID("boot-2"))
        #expect(reopened.openingState == .resumed)
        #expect(try rowCount(of: reopened) == 1)
    }

    /// Returns the disk operations of `run`, each with the name of its file.
    private func diskOperations(_ run: () throws -> Void) rethrows -> [String] {
        store_calls_record()
        try run()
        return String(cString: store_calls_recorded()).split(separator: "\n").map(String.init)
    }

    @Test func `a clean mark is written only after the data is on the disk`() throws {
        let file = try open()
        let committing = try diskOperations { try commit(file) }
        #expect(committing.contains("write data.mdb") && !committing.contains("sync data.mdb"))
        let closing = try diskOperations { try file.close() }
        #expect(
            closing == [
                "sync data.mdb", "write mark.next", "sync mark.next", "rename mark", "sync state",
            ])
    }

    @Test func `an open mark is on the disk before the first change of the data`() throws {
        let file = try open()
        try commit(file)
        try file.close()
        var reopened: StateFile?
        let opening = try diskOperations { reopened = try open() }.filter { $0 != "write lock" }
        #expect(
            opening.prefix(4) == ["write mark.next", "sync mark.next", "rename mark", "sync state"],
            "\(opening)")
        try reopened?.close()
    }

    @Test func `the file of a killed process is resumed`() throws {
        try openAndDie { try commit($0) }
        let file = try open()
        #expect(file.openingState == .resumed)
        #expect(try rowCount(of: file) == 1)
    }

    @Test func `after a power cut without a clean close the file starts empty`() throws {
        try openAndDie { try commit($0) }
        let file = try open(boot: BootID("boot-2"))
        #expect(file.openingState == .discarded(.machineWentDown))
        #expect(try rowCount(of: file) == 0)
    }

    @Test func `a file of another schema starts empty`() throws {
        try openAndDie { try commit($0) }
        let file = try open(schema: 2)
        #expect(file.openingState == .discarded(.otherSchema(found: 1, wanted: 2)))
        #expect(try rowCount(of: file) == 0)
    }

    @Test func `a file of another cluster, topic or partition starts empty`() throws {
        try openAndDie { try commit($0) }
        let file = try open(origin: "other/registry/3")
        #expect(
            file.openingState
                == .discarded(.otherOrigin(found: "cluster/registry/3", wanted: "other/registry/3")))
        #expect(try rowCount(of: file) == 0)
    }

    @Test func `a file older than the topic's retention of deletions starts empty`() throws {
        try openAndDie { try commit($0) }
        let limit = WallTime(milliseconds: start.milliseconds + dayMilliseconds)
        try openAndDie(now: limit) { file in #expect(file.openingState == .resumed) }
        let late = WallTime(milliseconds: limit.milliseconds + 1)
        let file = try open(now: late)
        #expect(
            file.openingState
                == .discarded(
                    .tooOld(ageMilliseconds: dayMilliseconds + 1, limitMilliseconds: dayMilliseconds)))
        #expect(try rowCount(of: file) == 0)
    }

    @Test func `one outdated partition makes the file outdated, and a restart does not renew it`() throws {
        try openAndDie { file in
            try commit(file)
            try file.write { transaction throws(StoreError) in
                let recent = AppliedProgress(
                    offset: 9, completeUntil: WallTime(milliseconds: start.milliseconds + 2 * dayMilliseconds)
                )
                try transaction.setAppliedProgress(recent, ofTopic: "starts", partition: 3)
            }
            try file.close()
        }
        let file = try open(now: WallTime(milliseconds: start.milliseconds + 2 * dayMilliseconds))
        #expect(
            file.openingState
                == .discarded(
                    .tooOld(ageMilliseconds: 2 * dayMilliseconds, limitMilliseconds: dayMilliseconds)))
    }

    @Test func `after two deaths before a commit the file starts empty, and a commit resets the count`()
        throws
    {
        try openAndDie { try commit($0) }
        try openAndDie()
        try openAndDie { try commit($0) }
        try openAndDie()
        try openAndDie { file in #expect(file.openingState == .resumed) }
        let file = try open()
        #expect(file.openingState == .discarded(.crashedTwiceBeforeCommit))
        #expect(try rowCount(of: file) == 0)
    }

    @Test func `a clean close without a commit does not count as a death`() throws {
        try openAndDie { try commit($0) }
        for _ in 0..<4 { try openAndDie { try $0.close() } }
        #expect(try open().openingState == .resumed)
    }

    @Test func `data without a mark is not trusted`() throws {
        try openAndDie { try commit($0) }
        try FileManager.default.removeItem(atPath: directory.path + "/state/mark")
        #expect(try open().openingState == .discarded(.unmarked))
    }

    @Test func `a mark without its data is reported`() throws {
        try openAndDie { try commit($0) }
        try FileManager.default.removeItem(atPath: directory.path + "/state/data.mdb")
        #expect(try open().openingState == .discarded(.missingData))
    }

    @Test func `a mark that is cut off anywhere is rejected`() throws {
        try openAndDie { try commit($0) }
        let path = directory.path + "/state/mark"
        let markBytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let mark = try #require(StateFileMark(parsing: markBytes))
        #expect(mark.bytes == markBytes)
        for length in 0..<markBytes.count {
            #expect(StateFileMark(parsing: Array(markBytes[..<length])) == nil)
        }
        // The file has a part of the mark.
        try Data(markBytes[..<40]).write(to: URL(fileURLWithPath: path))
        #expect(try open().openingState == .discarded(.unreadableMark))
    }

    @Test func `a file that was marked unusable starts empty and reports the reason`() throws {
        try openAndDie { file in
            try commit(file)
            try file.markUnusable(because: "table rows\nhas a row of 3 bytes")
        }
        let file = try open()
        #expect(file.openingState == .discarded(.markedUnusable("table rows has a row of 3 bytes")))
        #expect(try rowCount(of: file) == 0)
    }

    @Test func `a second opening is rejected, and the error names the process`() throws {
        let first = try open()
        #expect(throws: StoreError.inUse(path: directory.path + "/state", by: "process \(getpid())")) {
            try open()
        }
        try commit(first)
    }

    @Test func `in a tree that the process has locked, a file has one owner and no lock file`() throws {
        let tree = directory.path + "/slot-0"
        DirectoryLock.registerLockedTree(tree)
        do {
            let first = try DirectoryLock(directory: tree + "/ingest/rows-1")
            #expect(!FileManager.default.fileExists(atPath: tree + "/ingest/rows-1/lock"))
            #expect(throws: StoreError.inUse(path: tree + "/ingest/rows-1", by: "process \(getpid())")) {
                _ = try DirectoryLock(directory: tree + "/ingest/rows-1")
            }
            _ = try DirectoryLock(directory: tree + "/ingest/rows-2")
            let beside = try DirectoryLock(directory: tree + "0/rows")
            #expect(FileManager.default.fileExists(atPath: tree + "0/rows/lock"))
            _ = consume first
            _ = consume beside
        }
        _ = try DirectoryLock(directory: tree + "/ingest/rows-1")
    }

    @Test func `the error for a directory that cannot be created names it`() throws {
        let path = directory.path + "/file"
        try Data().write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: StoreError.self) { _ = try DirectoryLock(directory: path + "/a/b") }
        #expect(error?.description == "cannot create \(path)/a/b: Not a directory")
    }

    @Test func `the boot id of this machine is one line`() throws {
        let boot = try BootID.current()
        #expect(boot.text.utf8.count == 36)
        #expect(try BootID.current() == boot)
    }
}
