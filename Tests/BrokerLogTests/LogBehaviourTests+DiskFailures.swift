import Glibc
import Telemetry
import Testing

@testable import Broker

/// A log on a disk that is full or fails. `FaultyDisk.failNext` lets one operation of a kind fail. To roll is to begin
/// the next segment.
extension LogBehaviourTests {
    @Test func `a full disk refuses appends, keeps the records, and appends continue with new space`() throws
    {
        let fixture = try LogFixture()
        try fixture.log.append(timed("before", second: 0))
        fixture.faultyDisk.failNext(.write, with: .tear(bytes: 30, errno: ENOSPC))
        let error = try #require(throws: LogError.self) { try fixture.log.append(timed("lost", second: 0)) }
        #expect(error.code == .kafkaStorageError)
        #expect("\(error)".contains("free space"))
        #expect(try fixture.log.append(timed("after", second: 0)).baseOffset == 1)
        fixture.store.settle()
        #expect(try fixture.values() == ["before", "after"])
    }

    @Test func `a full disk at a roll refuses the append, and the next one succeeds`() throws {
        let fixture = try LogFixture(["segment.bytes": "150"])
        for operation in [Disk.Operation.create, .rename, .write] {
            try fixture.log.append(timed("fill the segment until it is full \(operation)", second: 0))
            let end = fixture.log.endOffset
            fixture.faultyDisk.failNext(operation, with: .fail(ENOSPC))
            #expect(throws: LogError.self) {
                try fixture.log.append(timed("fill the segment until it is full", second: 0))
            }
            #expect(fixture.log.endOffset == end)
            try fixture.log.append(timed("on", second: 0))
        }
        fixture.store.settle()
        #expect(try fixture.values().count == 6, "two records for each operation")
    }

    @Test func `a roll that fails at any step leaves no file that breaks a later start`() throws {
        for operation in [Disk.Operation.create, .truncate, .rename, .write] {
            let fixture = try LogFixture(["segment.bytes": "220"])
            try fixture.log.append(timed("first", second: 0))
            try fixture.log.append(timed("second", second: 0))
            fixture.faultyDisk.failNext(operation, with: .fail(ENOSPC))
            #expect(throws: LogError.self) {
                try fixture.log.append(timed("refused, it was too large", second: 0))
            }
            // The roll need not reach the operation.
            fixture.faultyDisk.clearFailure()
            // This record fits into the old segment, whose offsets now pass the name of the failed segment.
            try fixture.log.append(timed("3", second: 0))
            for _ in 0..<5 { try fixture.log.append(timed("more and more", second: 0)) }
            fixture.store.settle()
            let copy = TestDirectory(inMemory: true)
            copyTree(at: fixture.directory.path, to: copy.path)
            let reopened = try TopicStore(path: copy.path) {}
            #expect(reopened.topic(named: "t")?.partitions[0].endOffset == 8, "\(operation)")
        }
    }

    @Test func `after a failed sync no unsynced record was acknowledged or remains`() throws {
        let fixture = try LogFixture()
        try fixture.log.append(timed("safe", second: 0))
        fixture.store.settle()
        let appended = try fixture.log.append(timed("unsafe", second: 0))
        var answer: LogError?
        fixture.log.whenDurable(upTo: appended.nextOffset) { answer = $0 }
        fixture.faultyDisk.failNext(.sync, with: .fail(EIO))
        fixture.store.settle()
        #expect(answer?.code == .kafkaStorageError)
        #expect(fixture.log.endOffset == 1)
        #expect(try fixture.log.append(timed("again", second: 0)).baseOffset == 1)
        fixture.store.settle()
        #expect(try fixture.values() == ["safe", "again"])
    }

    @Test func `a directory sync without a free descriptor is repeated later, and no record is lost`()
        throws
    {
        let fixture = try LogFixture()
        try fixture.log.append(timed("before", second: 0))
        fixture.store.settle()
        try fixture.log.roll()
        let appended = try fixture.log.append(timed("v", second: 0))
        // An answer without an error is nil.
        var answers: [LogError?] = []
        fixture.log.whenDurable(upTo: appended.nextOffset) { answers.append($0) }
        fixture.faultyDisk.failNext(.syncDirectory, with: .fail(EMFILE))
        fixture.store.settle()
        #expect(answers.isEmpty)
        #expect(fixture.log.highWatermark == 1)
        #expect(!fixture.store.flusher.runOnce())
        fixture.store.upkeep(now: secondsAfterNoon(1))
        fixture.store.settle()
        #expect(answers == [nil])
        #expect(fixture.log.highWatermark == 2)
    }
}
