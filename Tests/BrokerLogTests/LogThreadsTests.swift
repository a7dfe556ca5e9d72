import Glibc
import Lifecycle
import Simulation
import Synchronization
import Telemetry
import Testing

@testable import Broker

/// The log with its real threads: in any interleaving, every waiter is answered once and compaction never
/// changes what a reader puts together.
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
        var truth: [[String: String]] = [[:], [:], [:]]
        var waiting = 0
        var random = SeededGenerator(seed: 5)
        for round in 0..<2000 {
            let index = Int.random(in: 0..<3, using: &random)
            let key = "k\(Int.random(in: 0..<30, using: &random))"
            truth[index][key] = "v\(round)"
            let appended = try topic.partitions[index].append(records("v\(round)", key: key))
            waiting += 1
            topic.partitions[index].whenDurable(upTo: appended.nextOffset) { error in
                #expect(error == nil)
                waiting -= 1
            }
            if round % 20 == 0 { store.deliver(now: noon) }
            if round % 100 == 0 { store.upkeep(now: noon) }
        }
        while waiting > 0 {
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
            #expect(state == truth[index])
        }
        #expect(topic.partitions.contains { $0.compactionProgress.firstDirty > 0 })
        try store.close()
    }
}
