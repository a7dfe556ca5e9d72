internal import Foundation
internal import IngestTesting
internal import InstallationTesting
internal import Kafka
internal import Telemetry
internal import Topics

/// A progress report for a slow step: its state, and the records that the stages still have to read.
final class StepProgressReporter {
    private static let reportIntervalSeconds = 10.0
    /// The smallest backlog that is reported.
    private static let recordsMin: Int64 = 100

    private let name: String
    private let fleet: Fleet
    private let describeState: () async throws -> String
    private let startedAt = Date()
    private var nextReportAt = Date(timeIntervalSinceNow: reportIntervalSeconds)
    private var admin: AdminClient?

    /// - Parameter describeState: the state of the step, as text for a person.
    init(name: String, on fleet: Fleet, describeState: @escaping () async throws -> String) {
        (self.name, self.fleet, self.describeState) = (name, fleet, describeState)
    }

    /// Reports from time to time. Call it repeatedly while the step waits.
    func reportIfDue() async throws {
        guard Date() >= nextReportAt else { return }
        let seconds = FleetBenchmark.format(seconds: Date().timeIntervalSince(startedAt))
        FleetBenchmark.printIndented(
            "\(name): after \(seconds) s \(try await describeState()); still to be read: \(try describeBacklog())"
        )
        nextReportAt = Date(timeIntervalSinceNow: Self.reportIntervalSeconds)
    }

    /// Returns the backlog by stage and topic, the largest first.
    private func describeBacklog() throws -> String {
        let bed = fleet.bed
        let admin = try admin ?? AdminClient(settings: bed.settings, log: .silent, metrics: Metrics())
        self.admin = admin
        let partitions = TopicName.allCases.flatMap { topic in
            (0..<Int32(bed.layout.partitionCount(of: topic))).map {
                TopicPartition(bed.layout.name(of: topic), $0)
            }
        }
        var recordCounts: [String: Int64] = [:]
        for group in try admin.groupNames() {
            for lag in try admin.lagOfConsumedPartitions(by: group, among: partitions) {
                let names = [group, lag.committed.partition.topic].map {
                    $0.dropFirst(bed.layout.prefix.count)
                }
                recordCounts[names.joined(separator: " "), default: 0] += lag.recordCount
            }
        }
        let largeBacklogs = recordCounts.filter { $0.value >= Self.recordsMin }.sorted { $0.value > $1.value }
        if largeBacklogs.isEmpty { return "almost nothing" }
        return largeBacklogs.map { "\($0.key) \(grouped(Double($0.value)))" }.joined(separator: ", ")
    }
}
