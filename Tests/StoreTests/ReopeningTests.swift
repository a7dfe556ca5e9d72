import CStoreFaults
import Foundation
import Synchronization
import Testing

@testable import Store

/// The reopening of a file that LMDB rejects. If it fails too, the next call tries again.
struct ReopeningTests {
    private let directory = TemporaryDirectory()

    /// Fails the write of LMDB's head page and its repair. LMDB then rejects the environment.
    private func breakHead(of environment: LMDBEnvironment, _ table: Table) throws {
        store_faults_arm(1000, 0, ENOSPC)
        try environment.put([1], [2], in: table)
        let head = store_faults_disarm() - 1
        store_faults_arm(head, 2, ENOSPC)
        #expect(throws: StoreError.diskFull(path: environment.path)) {
            try environment.put([1], [3], in: table)
        }
        store_faults_disarm()
    }

    /// Makes every opening fail: a directory has the name of LMDB's lock file.
    private func obstruct(_ environment: LMDBEnvironment) throws {
        let lock = environment.path + "-lock"
        try #require(rename(lock, lock + ".kept") == 0 && mkdir(lock, 0o700) == 0)
    }

    private func clear(_ environment: LMDBEnvironment) throws {
        let lock = environment.path + "-lock"
        try #require(rmdir(lock) == 0 && rename(lock + ".kept", lock) == 0)
    }

    enum Call: CaseIterable, Sendable { case read, write, sync }

    private func run(_ call: Call, _ environment: LMDBEnvironment, _ table: Table) throws {
        switch call {
        case .read: #expect(try environment.value([1], in: table) == [2])
        case .write: try environment.put([2], [2], in: table)
        case .sync: try environment.sync()
        }
    }

    @Test(arguments: Call.allCases)
    func `a file that could not be reopened is opened by the next call that can`(_ first: Call) throws {
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        try breakHead(of: environment, table)
        try obstruct(environment)
        for call in [Call.write, .read, .write, .sync, .read] {
            do {
                try run(call, environment, table)
                Issue.record("\(call) succeeded")
            } catch StoreError.system(let action, let path, _) {
                #expect(action == "open" && path == environment.path)
            }
        }
        try clear(environment)
        try run(first, environment, table)
        #expect(try environment.value([1], in: table) == [2])
        try environment.put([1], [4], in: table)
        #expect(try environment.value([1], in: table) == [4])
    }

    /// Returns how often this process has the file open.
    private func openCount(of path: String) throws -> Int {
        let folder = "/proc/self/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).count { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + name)) == path
        }
    }

    @Test func `a file without use is closed, and its next use opens it with its rows`() throws {
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        try environment.put([1], [2], in: table)
        environment.closeIfUnused()
        #expect(try openCount(of: environment.path) > 0, "it was used since the last call")
        environment.closeIfUnused()
        #expect(try openCount(of: environment.path) == 0)
        #expect(try environment.value([1], in: table) == [2])
        environment.closeIfUnused()
        environment.closeIfUnused()
        try environment.put([1], [3], in: table)
        #expect(try environment.value([1], in: table) == [3])
        environment.closeIfUnused()
        environment.closeIfUnused()
        try environment.sync()
        try environment.close()
        environment.closeIfUnused()
        #expect(throws: StoreError.self) { try environment.value([1], in: table) }
    }

    @Test func `a file that is in use is not closed`() throws {
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        try environment.put([1], [2], in: table)
        environment.closeIfUnused()
        try environment.read { (picture) throws(StoreError) in
            environment.closeIfUnused()
            environment.closeIfUnused()
            #expect(try picture.value(of: [1].span, in: table)?.count == 1)
        }
        try environment.write { (transaction) throws(StoreError) in
            environment.closeIfUnused()
            environment.closeIfUnused()
            try transaction.put([3].span, value: [4].span, in: table)
        }
        #expect(try environment.value([3], in: table) == [4])
    }

    @Test func `a closed file stays closed, also if it could not be reopened`() throws {
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"])
        let table = environment.table(named: "rows")
        try breakHead(of: environment, table)
        try obstruct(environment)
        #expect(throws: StoreError.self) { try environment.put([1], [4], in: table) }
        try environment.close()
        try clear(environment)
        let closed = StoreError.refused(path: environment.path, reason: "it is closed")
        #expect(throws: closed) { try environment.put([1], [4], in: table) }
        #expect(throws: closed) { try environment.value([1], in: table) }
        #expect(throws: closed) { try environment.sync() }
    }

    /// Reads and a writer reopen the file concurrently while the map moves. None of them may wait forever or
    /// see uncommitted data. The moment between two locks is too short to be hit reliably.
    @Test func `reads reopen the file beside a writer that reopens and grows it`() async throws {
        let limits = EnvironmentLimits(mapBytesAtStart: 1 << 20)
        let environment = try LMDBEnvironment(directory: directory.path, tables: ["rows"], limits: limits)
        let table = environment.table(named: "rows")
        try environment.put([1], [2], in: table)
        let end = End()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    while !end.isHere.load(ordering: .acquiring) {
                        try Self.check(environment, table)
                        await Task.yield()
                    }
                }
            }
            group.addTask {
                defer { end.isHere.store(true, ordering: .releasing) }
                for round in 0..<200 { try Self.disturb(environment, table, round) }
            }
            try await group.waitForAll()
        }
    }

    private final class End: Sendable {
        let isHere = Atomic(false)
    }

    private static func check(_ environment: LMDBEnvironment, _ table: Table) throws {
        do {
            let value = try environment.value([1], in: table)
            #expect(value == [2])
        } catch StoreError.refused {
            // The head failed again between the reopening and the read.
        }
    }

    /// Fails writes at each possible position in turn, including the head.
    private static func disturb(_ environment: LMDBEnvironment, _ table: Table, _ round: Int) throws {
        store_faults_arm(Int32(round % 5), 1000, ENOSPC)
        do { try environment.put([2], [UInt8(round)], in: table) } catch StoreError.diskFull {}
        store_faults_disarm()
        try environment.put([2], [UInt8](repeating: 1, count: round % 20 == 0 ? 2 << 20 : 10), in: table)
    }
}
