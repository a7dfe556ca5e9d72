import Foundation
import Lifecycle
import Telemetry
import Testing

@testable import Store

/// Processes that die at a random moment of their writes.
struct KillTests {
    /// Each transaction of the child writes its offset and as many rows as the offset.
    @Test func `a killed process leaves only complete transactions`() async throws {
        let directory = TemporaryDirectory()
        var last: Int64 = 0
        for round in 0..<12 {
            let delay = 500 + round * 900
            let path = directory.path
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, delay = delay as Int] in
                let file = try KillTests.open(path)
                let table = file.table(named: "rows")
                var offset = try file.read { snapshot throws(StoreError) in
                    try snapshot.appliedProgress(ofTopic: "t", partition: 0)?.offset ?? 0
                }
                Foundation.Thread.detachNewThread {
                    usleep(UInt32(delay))
                    kill(getpid(), SIGKILL)
                }
                while true {
                    offset += 1
                    try file.write { transaction throws(StoreError) in
                        try transaction.setAppliedProgress(
                            AppliedProgress(offset: offset, completeUntil: .now()), ofTopic: "t", partition: 0
                        )
                        for row in 0..<20 {
                            let key = (Int64(row) * 7_919 % 20).bigEndianBytes + offset.bigEndianBytes
                            try transaction.put(
                                key.span, value: [UInt8](repeating: 3, count: 100).span, in: table)
                        }
                    }
                }
            }
            let file = try Self.open(path)
            let table = file.table(named: "rows")
            let (applied, count) = try file.read { snapshot throws(StoreError) in
                (
                    try snapshot.appliedProgress(ofTopic: "t", partition: 0)?.offset ?? 0,
                    try snapshot.count(of: table)
                )
            }
            #expect(applied >= last)
            #expect(Int64(count) == applied * 20)
            #expect(file.openingState == .resumed || applied == 0)
            last = applied
            try file.close()
        }
        #expect(last > 0)
    }

    private static func open(_ path: String) throws -> StateFile {
        try StateFile(
            directory: path, conditions: ReuseConditions(schema: 1, origin: "here", ageMaxMilliseconds: .max),
            tables: ["rows"], now: .now(),
            boot: BootID.current())
    }

    @Test func `a second process is rejected`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.path
        let file = try Self.open(path)
        await #expect(processExitsWith: .exitCode(75)) { [path = path as String] in
            do {
                _ = try KillTests.open(path)
            } catch StoreError.inUse {
                exit(75)
            }
        }
        try file.close()
    }
}
