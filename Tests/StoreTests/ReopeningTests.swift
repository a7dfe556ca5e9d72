import CStoreFaults
import Foundation
import Synchronization
import Testing

@testable import Store

/// The reopening of a file that LMDB rejects, and of a file that was closed because it was not used. If the reopening
/// fails, the next call tries again. `store_faults_arm(after, count, error)` lets writes of this thread fail.
struct ReopeningTests {
    private let directory = TemporaryDirectory()

    /// Fails the write of LMDB's meta page and its repair. LMDB then rejects the environment.
    private func breakMetaPage(of environment: LMDBEnvironment, table: Table) throws {
        // Counts the writes of a commit. The last one writes the meta page.
        store_faults_arm(1_000, 0, ENOSPC)
        try environment.put([1], value: [2], in: table)
        let writesBeforeMetaPage = store_faults_disarm() - 1
        store_faults_arm(writesBeforeMetaPage, 2, ENOSPC)
        #expect(throws: StoreError.diskFull(path: environment.path)) {
            try environment.put([1], value: [3], in: table)
        }
        store_faults_disarm()
    }

    /// Makes every opening fail: a directory has the name of LMDB's lock file.
    private func obstructOpening(of environment: LMDBEnvironment) throws {
        let lock = environment.path + "-lock"
        try #require(rename(lock, lock + ".kept") == 0 && mkdir(lock, 0o700) == 0)
    }

    private func removeObstacle(of environment: LMDBEnvironment) throws {
        let lock = environment.path + "-lock"
        try #require(rmdir(lock) == 0 && rename(lock + ".kept", lock) == 0)
    }

    enum Call: CaseIterable, Sendable { case read, write, sync }

    private func perform(_ call: Call, on environment: LMDBEnvironment, table: Table) throws {
        switch call {
        case .read: #expect(try environment.value(of: [1], in: table) == [2])
        case .write: try environment.put([2], value: [2], in: table)
        case .sync: try environment.sync()
        }
    }

    @Test(arguments: Call.allCases)
    func `a file that could not be reopened is opened by the next call that can`(_ first: Call) throws {
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        try breakMetaPage(of: environment, table: table)
        try obstructOpening(of: environment)
        for call in [Call.write, .read, .write, .sync, .read] {
            do {
                try perform(call, on: environment, table: table)
                Issue.record("\(call) succeeded")
            } catch StoreError.system(let action, let path, _) {
                #expect(action == "open" && path == environment.path)
            }
        }
        try removeObstacle(of: environment)
        try perform(first, on: environment, table: table)
        #expect(try environment.value(of: [1], in: table) == [2])
        try environment.put([1], value: [4], in: table)
        #expect(try environment.value(of: [1], in: table) == [4])
    }

    /// Returns the number of this process's descriptors of the file.
    private func openCount(of path: String) throws -> Int {
        let folder = "/proc/self/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).count { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + name)) == path
        }
    }

    // `closeIfUnused` closes a file that was not used since the previous call.
    @Test func `a file without use is closed, and its next use opens it with its rows`() throws {
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        try environment.put([1], value: [2], in: table)
        environment.closeIfUnused()
        #expect(try openCount(of: environment.path) > 0, "it was used since the last call")
        environment.closeIfUnused()
        #expect(try openCount(of: environment.path) == 0)
        #expect(try environment.value(of: [1], in: table) == [2])
        environment.closeIfUnused()
        environment.closeIfUnused()
        try environment.put([1], value: [3], in: table)
        #expect(try environment.value(of: [1], in: table) == [3])
        environment.closeIfUnused()
        environment.closeIfUnused()
        try environment.sync()
        try environment.close()
        environment.closeIfUnused()
        #expect(throws: StoreError.self) { try environment.value(of: [1], in: table) }
    }

    @Test func `a file that is in use is not closed`() throws {
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        try environment.put([1], value: [2], in: table)
        environment.closeIfUnused()
        try environment.read { (snapshot) throws(StoreError) in
            environment.closeIfUnused()
            environment.closeIfUnused()
            #expect(try snapshot.value(of: [1].span, in: table)?.count == 1)
        }
        try environment.write { (transaction) throws(StoreError) in
            environment.closeIfUnused()
            environment.closeIfUnused()
            try transaction.put([3].span, value: [4].span, in: table)
        }
        #expect(try environment.value(of: [3], in: table) == [4])
    }

    @Test func `a closed file stays closed, also if it could not be reopened`() throws {
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        try breakMetaPage(of: environment, table: table)
        try obstructOpening(of: environment)
        #expect(throws: StoreError.self) { try environment.put([1], value: [4], in: table) }
        try environment.close()
        try removeObstacle(of: environment)
        let closed = StoreError.refused(path: environment.path, reason: "it is closed")
        #expect(throws: closed) { try environment.put([1], value: [4], in: table) }
        #expect(throws: closed) { try environment.value(of: [1], in: table) }
        #expect(throws: closed) { try environment.sync() }
    }

    // Reads and a writer reopen the file concurrently while the map moves. None of them may wait forever or see
    // uncommitted data. The moment between two locks is too short to be hit reliably.
    @Test func `reads reopen the file beside a writer that reopens and grows it`() async throws {
        let limits = EnvironmentLimits(mapBytesAtStart: 1 << 20)
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"], limits: limits)
        let table = environment.table(named: "rows")
        try environment.put([1], value: [2], in: table)
        let writerEnd = WriterEnd()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    while !writerEnd.hasCome.load(ordering: .acquiring) {
                        try Self.readOnce(table, in: environment)
                        await Task.yield()
                    }
                }
            }
            group.addTask {
                defer { writerEnd.hasCome.store(true, ordering: .releasing) }
                for round in 0..<200 { try Self.failAndGrow(environment, table: table, round: round) }
            }
            try await group.waitForAll()
        }
    }

    private final class WriterEnd: Sendable {
        let hasCome = Atomic(false)
    }

    private static func readOnce(_ table: Table, in environment: LMDBEnvironment) throws {
        do {
            let value = try environment.value(of: [1], in: table)
            #expect(value == [2])
        } catch StoreError.refused {
            // The meta page failed again between the reopening and the read.
        }
    }

    /// Fails writes from each possible position in turn, including the meta page. Then writes, sometimes so much
    /// that the map grows.
    private static func failAndGrow(_ environment: LMDBEnvironment, table: Table, round: Int) throws {
        store_faults_arm(Int32(round % 5), 1_000, ENOSPC)
        do { try environment.put([2], value: [UInt8(round)], in: table) } catch StoreError.diskFull {}
        store_faults_disarm()
        let byteCount = round % 20 == 0 ? 2 << 20 : 10
        try environment.put([2], value: [UInt8](repeating: 1, count: byteCount), in: table)
    }
}
