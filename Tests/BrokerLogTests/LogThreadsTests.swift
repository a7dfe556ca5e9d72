import Glibc
import Lifecycle
import Simulation
import Synchronization
import Telemetry
import Testing

@testable import Broker

/// A log with its real threads. Each waiter is answered once, and compaction does not change the state that a reader
/// makes from the records.
struct LogThreadsTests {
    @Test(.timeLimit(.minutes(1)))
    func `appends, syncs and compactions on three threads end in one state`() throws {
        let directory = TestDirectory(inMemory: true)
        let wakes = ThreadSignal()
        let store = try TopicStore(path: directory.path) { wakes.raise() }
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
        var unanswered = 0
        var random = SeededGenerator(seed: 5)
        for round in 0..<2000 {
            let index = Int.random(in: 0..<3, using: &random)
            let key = "k\(Int.random(in: 0..<30, using: &random))"
            expected[index][key] = "v\(round)"
            let appended = try topic.partitions[index].append(records("v\(round)", key: key))
            unanswered += 1
            topic.partitions[index].whenDurable(upTo: appended.nextOffset) { error in
                #expect(error == nil)
                unanswered -= 1
            }
            if round % 20 == 0 { store.deliver(now: noon) }
            if round % 100 == 0 { store.upkeep(now: noon) }
        }
        while unanswered > 0 {
            wakes.wait()
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
        #expect(topic.partitions.contains { $0.compactionProgress.firstDirty > 0 })
        try store.close()
    }
}
