internal import Foundation
internal import IngestTesting
internal import InstallationTesting
internal import Kafka
internal import LiveActivity
internal import Telemetry
internal import Topics

/// A progress report for a slow step: its state, and the records that the stages still have to read.
final class SlowStep {
    private static let quietSeconds = 10.0
    /// The smallest backlog that is reported.
    private static let recordsMin: Int64 = 100

    private let name: String
    private let fleet: Fleet
    private let reached: () async throws -> String
    private let begun = Date()
    private var next = Date(timeIntervalSinceNow: quietSeconds)
    private var admin: AdminClient?

    /// - Parameter reached: the state of the step, as text for a person.
    init(_ name: String, on fleet: Fleet, reached: @escaping () async throws -> String) {
        (self.name, self.fleet, self.reached) = (name, fleet, reached)
    }

    /// Reports from time to time. Call it repeatedly while the step waits.
    func look() async throws {
        guard Date() >= next else { return }
        let seconds = FleetBenchmark.text(Date().timeIntervalSince(begun))
        FleetBenchmark.say(
            "\(name): after \(seconds) s \(try await reached()); still to be read: \(try backlog())")
        next = Date(timeIntervalSinceNow: Self.quietSeconds)
    }

    /// Returns the backlog by stage and topic, the largest first.
    private func backlog() throws -> String {
        let bed = fleet.bed
        let admin = try admin ?? AdminClient(settings: bed.settings, log: .silent, metrics: Metrics())
        self.admin = admin
        let partitions = TopicName.allCases.flatMap { topic in
            (0..<Int32(bed.layout.partitions(of: topic))).map {
                TopicPartition(bed.layout.name(of: topic), $0)
            }
        }
        var waiting: [String: Int64] = [:]
        for group in try admin.groupNames() {
            for lag in try admin.lagOfConsumedPartitions(by: group, among: partitions) {
                let names = [group, lag.committed.partition.topic].map {
                    $0.dropFirst(bed.layout.prefix.count)
                }
                waiting[names.joined(separator: " "), default: 0] += lag.recordCount
            }
        }
        let most = waiting.filter { $0.value >= Self.recordsMin }.sorted { $0.value > $1.value }
        if most.isEmpty { return "almost nothing" }
        return most.map { "\($0.key) \(grouped(Double($0.value)))" }.joined(separator: ", ")
    }
}
