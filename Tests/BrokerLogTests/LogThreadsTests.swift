import Glibc
import Lifecycle
import Simulation
import Synchronization
import Telemetry
import Testing

@testable import Broker

/// Three logs with the store's real threads: one for syncs, one for compaction, and this one, which owns the logs. Each
/// append is answered once, and compaction does not change the state that a reader makes from the records.
struct LogThreadsTests {
    @Test(.timeLimit(.minutes(1)))
    func `appends, syncs and compactions on three threads end in one state`() throws {
        let directory = TestDirectory(inMemory: true)
        // The threads raise the signal when they have results for `deliver`.
        let resultsSignal = ThreadSignal()
        let store = try TopicStore(path: directory.path) { resultsSignal.raise() }
        let topic = try store.create(
            "t", partitions: 3,
            settings: [
                "cleanup.policy": "compact", "segment.bytes": "3000", "min.cleanable.dirty.ratio": "0.01",
            ])
        let (flusher, worker) = (store.flusher, store.worker)
        let threads = [
            try WorkerThread(name: "flush") { flusher.run() },
            try WorkerThread(name: "work") { worker.run() },
        ]
        var expected: [[String: String]] = [[:], [:], [:]]
        var unansweredCount = 0
        var random = SeededGenerator(seed: 5)
        for round in 0..<2000 {
            let index = Int.random(in: 0..<3, using: &random)
            let key = "k\(Int.random(in: 0..<30, using: &random))"
            expected[index][key] = "v\(round)"
            let appended = try topic.partitions[index].append(records("v\(round)", key: key))
            unansweredCount += 1
            topic.partitions[index].whenDurable(upTo: appended.nextOffset) { error in
                #expect(error == nil)
                unansweredCount -= 1
            }
            if round % 20 == 0 { store.deliver(now: noon) }
            if round % 100 == 0 { store.upkeep(now: noon) }
        }
        while unansweredCount > 0 {
            resultsSignal.wait()
            store.deliver(now: noon)
        }
        flusher.stop()
        worker.stop()
        for thread in threads { thread.join() }
        store.deliver(now: noon)
        for (index, log) in topic.partitions.enumerated() {
            var state: [String: String] = [:]
            try log.forEachBatch(from: 0) { batch in
                for record in batch.records { state[record.keyText] = record.valueText }
            }
            #expect(state == expected[index])
        }
        // At least one log was compacted.
        #expect(topic.partitions.contains { $0.compactionProgress.firstDirty > 0 })
        try store.close()
    }
}
