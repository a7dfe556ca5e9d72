internal import Foundation
internal import IngestTesting
internal import InstallationTesting
internal import Kafka
internal import Telemetry
internal import Topics

/// A reporter of progress while a benchmark waits for a slow step of a fleet. Every ten seconds it prints the state of
/// the step, and the records that the stages still have to read. So a person sees which stage is behind.
final class StepProgressReporter {
    private static let reportIntervalSeconds = 10.0
    /// The smallest backlog that is reported. A busy stage always has a few records to read.
    private static let backlogRecordsMin: Int64 = 100

    private let name: String
    private let fleet: Fleet
    private let describeState: () async throws -> String
    private let startedAt = Date()
    private var nextReportAt = Date(timeIntervalSinceNow: reportIntervalSeconds)
    /// Nil until the first report.
    private var admin: AdminClient?

    /// - Parameter describeState: returns the state of the step, as text for a person.
    init(name: String, on fleet: Fleet, describeState: @escaping () async throws -> String) {
        (self.name, self.fleet, self.describeState) = (name, fleet, describeState)
    }

    /// Prints a report if the interval since the last one has passed. Call it repeatedly while the step waits.
    func reportIfDue() async throws {
        guard Date() >= nextReportAt else { return }
        let seconds = FleetBenchmark.format(seconds: Date().timeIntervalSince(startedAt))
        FleetBenchmark.printIndented(
            "\(name): after \(seconds) s \(try await describeState()); still to be read: \(try describeBacklogs())"
        )
        nextReportAt = Date(timeIntervalSinceNow: Self.reportIntervalSeconds)
    }

    /// Returns the backlogs by stage and topic, the largest first, such as `sender jobs 52,000, ingest reports 1,200`.
    private func describeBacklogs() throws -> String {
        let backlogs = try readBacklogs().filter { $0.value >= Self.backlogRecordsMin }
        if backlogs.isEmpty { return "almost nothing" }
        return backlogs.sorted { $0.value > $1.value }.map { "\($0.key) \(grouped(Double($0.value)))" }
            .joined(separator: ", ")
    }

    /// Returns the records that consumer groups have not committed, by the names of the group and the topic. Both names
    /// begin with the prefix of the installation, which is left out.
    private func readBacklogs() throws -> [String: Int64] {
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
                let shortNames = [group, lag.committed.partition.topic].map {
                    $0.dropFirst(bed.layout.prefix.count)
                }
                recordCounts[shortNames.joined(separator: " "), default: 0] += lag.recordCount
            }
        }
        return recordCounts
    }
}
