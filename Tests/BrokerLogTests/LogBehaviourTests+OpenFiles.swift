import Glibc
import Telemetry
import Testing

@testable import Broker

/// The files that logs keep open, of which a process may have a limited number.
extension LogBehaviourTests {
    @Test func `open files stay within their limit`() throws {
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path, openSegmentsMax: 4) {}
        let topic = try store.create("t", partitions: 2, settings: ["segment.bytes": "100"])
        for log in topic.partitions {
            for _ in 0..<30 {
                try log.append(timed("some value", second: 0))
                store.settle()
            }
        }
        for log in topic.partitions {
            for offset in 0..<30 as Range<Int64> { _ = try log.read(from: offset) }
        }
        #expect(store.environment.openSegments.count <= 4)
    }

    @Test(arguments: [(1024, 128), (524_288, 128), (256, 32), (64, 16), (20, 16)])
    func `open segments may use an eighth of the descriptors, but at least 16 and at most 128`(
        _ descriptors: Int, _ limit: Int
    ) {
        #expect(OpenSegments.limit(ofDescriptors: descriptors) == limit)
        #expect(OpenSegments.limitDefault >= 16)
    }

    @Test func `unused segments are closed, and opened again when they are needed`() throws {
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path) {}
        let logs = try store.create("t", partitions: 40).partitions
        for log in logs { try log.append(timed("v", second: 0)) }
        store.settle()
        #expect(store.environment.openSegments.count == 40)
        store.upkeep(now: secondsAfterNoon(0))
        try logs[0].append(timed("w", second: 1))
        store.settle()
        store.upkeep(now: secondsAfterNoon(61))
        #expect(store.environment.openSegments.count == 1)
        store.upkeep(now: secondsAfterNoon(122))
        #expect(store.environment.openSegments.count == 0)
        for log in logs { #expect(try log.append(timed("w", second: 130)).baseOffset >= 1) }
        store.settle()
        for log in logs { #expect(try log.read(from: 0).count > 2 * BatchHeader.size, "two batches or more") }
    }

    @Test func `with FlushPolicy.os closed segments are synced before a checkpoint`() throws {
        let directory = TestDirectory(inMemory: true)
        let faultyDisk = FaultyDisk(seed: 1)
        do {
            let store = try TopicStore(
                path: directory.path, flush: .os, disk: faultyDisk.disk, openSegmentsMax: 4, bootID: "one"
            ) {}
            let logs = try store.create("t", partitions: 20).partitions
            for log in logs { try log.append(timed("v", second: 0)) }
            #expect(store.environment.openSegments.count <= 4)
            for log in logs { log.checkpoints.requestCheckpoint() }
            for log in logs { log.requestFlush() }
            store.settle()
        }
        faultyDisk.losePower()
        let store = try TopicStore(path: directory.path, bootID: "two") {}
        // The record of each log was synced. The start skips the offsets that lost records could have had.
        let ends = store.topic(named: "t")?.partitions.map(\.endOffset) ?? []
        #expect(ends == Array(repeating: 1 + PartitionLog.skippedOffsets, count: 20))
    }

    @Test func `a roll without a free descriptor closes other files and succeeds`() throws {
        for operation in [Disk.Operation.create, .open] {
            let fixture = try LogFixture(["segment.bytes": "220"])
            let other = try fixture.store.create("other", partitions: 1).partitions[0]
            try other.append(timed("open", second: 0))
            for _ in 0..<2 { try fixture.log.append(timed("fill", second: 0)) }
            fixture.store.settle()
            // Only the file of "other" is open, so the roll can close it.
            fixture.store.environment.openSegments.closeSegments()
            _ = try other.read(from: 0)
            fixture.faultyDisk.failNext(operation, with: .fail(EMFILE))
            try fixture.log.append(timed("more and more and more and more and more and more", second: 0))
            fixture.faultyDisk.clearFailure()
            fixture.store.settle()
            #expect(fixture.log.segmentCount == 2, "\(operation)")
            #expect(fixture.log.highWatermark == 3)
            #expect(try other.append(timed("on", second: 0)).baseOffset == 1)
        }
    }
}
