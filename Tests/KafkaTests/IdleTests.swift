import Foundation
import Kafka
import KafkaTesting
import Telemetry
import Testing

/// What clients cost that have nothing to do.
@Suite(.serialized) struct IdleTests {
    /// Of threads of this name: processor time in nanoseconds, and how often each has begun to wait.
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
                KafkaSettings(brokers: cluster.brokers), name: "idle-\($0)", log: .silent, metrics: Metrics())
        }
        // What idle time costs is the question, so it is time that is waited for: first until they have begun.
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
        // Half a millisecond for each wait where they spin, an eighth where they do not.
        let each = nanoseconds / max(1, waits)
        #expect(waits > 0 && each < 350_000, "\(each / 1000) µs for each of \(waits) waits")
    }
}
