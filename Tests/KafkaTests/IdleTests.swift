import Foundation
import Kafka
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

/// Tests of the cost of idle clients.
@Suite(.serialized) struct IdleTests {
    /// The processor time of a thread in nanoseconds, and the number of its waits.
    private typealias ThreadUse = (nanoseconds: Int64, waits: Int64)

    /// The name of the main thread of each of the library's clients.
    private static let mainThread = "rdk:main"

    /// Returns the use of each thread with this name, by the thread's id.
    private static func use(byThreadsNamed name: String) -> [String: ThreadUse] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        var useOfThreads: [String: ThreadUse] = [:]
        for thread in threads {
            func text(_ file: String) -> String {
                (try? String(contentsOfFile: "/proc/self/task/\(thread)/\(file)", encoding: .utf8)) ?? ""
            }
            guard text("comm") == name + "\n" else { continue }
            let waits = text("status").firstMatch(of: #/\nvoluntary_ctxt_switches:\s+(\d+)/#)
            guard let time = text("schedstat").split(separator: " ").first.flatMap({ Int64($0) }),
                let waits = waits.flatMap({ Int64($0.1) })
            else { continue }
            useOfThreads[thread] = (time, waits)
        }
        return useOfThreads
    }

    @Test func `a client's main thread does not spin until its timers are due`() async throws {
        let cluster = try TestCluster()
        let otherThreads = Set(Self.use(byThreadsNamed: Self.mainThread).keys)
        let clients = try (0..<20).map {
            try Producer(
                settings: KafkaSettings(brokers: cluster.brokers), name: "idle-\($0)", log: .silent,
                metrics: Metrics())
        }
        // The test measures idle time, so it has to sleep. The first sleep lets the threads start.
        try await Task.sleep(for: .seconds(2))
        let useBefore = Self.use(byThreadsNamed: Self.mainThread).filter { !otherThreads.contains($0.key) }
        try await Task.sleep(for: .seconds(4))
        let useAfter = Self.use(byThreadsNamed: Self.mainThread)
        withExtendedLifetime(clients) {}
        #expect(useBefore.count >= 20)
        var (nanoseconds, waits): (Int64, Int64) = (0, 0)
        for (thread, before) in useBefore {
            guard let after = useAfter[thread] else { continue }
            nanoseconds += after.nanoseconds - before.nanoseconds
            waits += after.waits - before.waits
        }
        // A spinning thread needs half a millisecond for each wait, others an eighth.
        let nanosecondsPerWait = nanoseconds / max(1, waits)
        #expect(
            waits > 0 && nanosecondsPerWait < 350_000,
            "\(nanosecondsPerWait / 1000) µs for each of \(waits) waits")
    }

    /// The main thread makes the threads of the brokers. They would inherit its timer slack, the time by which the
    /// kernel may wake a thread late.
    @Test func `a lingering record leaves in time for a broker that the cluster announced`() async throws {
        try await onThread {
            let cluster = try makeCluster(brokers: 3)
            var options = ProducerOptions()
            options.lingerMilliseconds = 5
            let settings = KafkaSettings(brokers: [cluster.brokers[0]])
            let producer = try Producer(
                settings: settings, options: options, name: "test", log: .silent, metrics: Metrics())
            let topic = try producer.topic(named: "jobs")
            var deliveries: [Delivery] = []
            var milliseconds: [Int] = []
            for index: Int32 in 0..<44 {
                let startedAt = Instant.now()
                #expect(
                    producer.put(
                        key: "k", value: nil, to: topic, partition: index % 4, collecting: &deliveries)
                        == .queued)
                try #require(
                    try eventually {
                        _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 100)
                        return !deliveries.isEmpty
                    })
                deliveries = []
                // After four records the leaders are known and connected.
                if index >= 4 { milliseconds.append(Instant.now().milliseconds(since: startedAt)) }
            }
            let median = milliseconds.sorted()[milliseconds.count / 2]
            #expect(median < 30, "\(milliseconds)")
        }
    }
}
