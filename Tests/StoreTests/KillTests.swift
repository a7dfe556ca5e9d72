import Foundation
import Lifecycle
import Telemetry
import Testing

@testable import Store

/// Processes that die while they write. The body of a `processExitsWith` runs in a child process.
struct KillTests {
    private static let rowsPerTransaction = 20

    // Each transaction of the child adds one to the applied offset, and adds `rowsPerTransaction` rows.
    @Test func `a killed process leaves only complete transactions`() async throws {
        let directory = TemporaryDirectory()
        var last: Int64 = 0
        for round in 0..<12 {
            let delayMicroseconds = 500 + round * 900
            let path = directory.path
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, delayMicroseconds = delayMicroseconds as Int] in
                let file = try KillTests.open(path)
                let table = file.table(named: "rows")
                var offset = try file.read { snapshot throws(StoreError) in
                    try snapshot.appliedProgress(ofTopic: "t", partition: 0)?.offset ?? 0
                }
                Foundation.Thread.detachNewThread {
                    usleep(UInt32(delayMicroseconds))
                    kill(getpid(), SIGKILL)
                }
                while true {
                    offset += 1
                    try file.write { transaction throws(StoreError) in
                        try transaction.setAppliedProgress(
                            AppliedProgress(offset: offset, completeUntil: .now()), ofTopic: "t", partition: 0
                        )
                        for row in 0..<KillTests.rowsPerTransaction {
                            // A prime spreads the rows over the file, so that a transaction changes many pages.
                            let place = Int64(row) * 7_919 % Int64(KillTests.rowsPerTransaction)
                            let key = place.bigEndianBytes + offset.bigEndianBytes
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
            #expect(Int64(count) == applied * Int64(Self.rowsPerTransaction))
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

    // The exit code 75 (EX_TEMPFAIL) shows that the child got the expected error.
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
