import Foundation
import Kafka
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

/// Tests of the cost of idle clients.
@Suite(.serialized) struct IdleTests {
    /// Returns, per thread with this name, its processor time in nanoseconds and the number of its waits.
    private static func used(by name: String) -> [String: (nanoseconds: Int64, waits: Int64)] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        var all: [String: (nanoseconds: Int64, waits: Int64)] = [:]
        for thread in threads {
            func text(_ file: String) -> String {
                (try? String(contentsOfFile: "/proc/self/task/\(thread)/\(file)", encoding: .utf8)) ?? ""
            }
            guard text("comm") == name + "\n" else { continue }
            let waits = text("status").firstMatch(of: #/\nvoluntary_ctxt_switches:\s+(\d+)/#)
            guard let time = text("schedstat").split(separator: " ").first.flatMap({ Int64($0) }),
                let waits = waits.flatMap({ Int64($0.1) })
            else { continue }
            all[thread] = (time, waits)
        }
        return all
    }

    @Test func `a client's main thread does not spin until its timers are due`() async throws {
        let cluster = try TestCluster()
        let before = Set(Self.used(by: "rdk:main").keys)
        let clients = try (0..<20).map {
            try Producer(
                settings: KafkaSettings(brokers: cluster.brokers), name: "idle-\($0)", log: .silent,
                metrics: Metrics())
        }
        // The test measures idle time, so it has to sleep. The first sleep lets the threads start.
        try await Task.sleep(for: .seconds(2))
        let begun = Self.used(by: "rdk:main").filter { !before.contains($0.key) }
        try await Task.sleep(for: .seconds(4))
        let ended = Self.used(by: "rdk:main")
        withExtendedLifetime(clients) {}
        #expect(begun.count >= 20)
        var (nanoseconds, waits): (Int64, Int64) = (0, 0)
        for (thread, first) in begun {
            guard let last = ended[thread] else { continue }
            nanoseconds += last.nanoseconds - first.nanoseconds
            waits += last.waits - first.waits
        }
        // A spinning thread needs half a millisecond for each wait, others an eighth.
        let each = nanoseconds / max(1, waits)
        #expect(waits > 0 && each < 350_000, "\(each / 1000) µs for each of \(waits) waits")
    }

    /// The main thread makes the brokers' threads. They would inherit its timer slack.
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
                while deliveries.isEmpty {
                    _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 100)
                }
                deliveries = []
                // After four records the leaders are known and connected.
                if index >= 4 { milliseconds.append(Instant.now().milliseconds(since: startedAt)) }
            }
            let median = milliseconds.sorted()[milliseconds.count / 2]
            #expect(median < 30, "\(milliseconds)")
        }
    }
}
