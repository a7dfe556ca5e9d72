internal import CatalogRecords
internal import Foundation
internal import IngestTesting
internal import Kafka
internal import ProcessTesting
internal import Telemetry
internal import Topics

/// A replay after a match: reports are read again, failed jobs are sent again, and every stored send is written again.
/// No phone and no row of the registry may change, because every record of the replay repeats an earlier one.
struct InstallationReplay {
    /// The time in which a record's effect passes from the first stage to the last.
    private static let quietSeconds = 3.0
    /// The limit of the wait until the fleet has no work.
    private static let quietSecondsMax = 300.0
    /// The number of sends, the last ones, whose failed jobs are sent again.
    private static let resentSends = 3

    private let fleet: Fleet
    private let backend: FleetBackend
    private let group: String

    init(fleet: Fleet, backend: FleetBackend, group: String) {
        (self.fleet, self.backend, self.group) = (fleet, backend, group)
    }

    /// Replays the reports and the sends, and compares the fleet with the one before.
    ///
    /// - Returns: The faults as texts.
    func run(after sends: [FleetBackend.AcceptedSend]) async throws -> [String] {
        let match = FleetMatch(group: group, fleet: fleet, backend: backend)
        try await waitUntilQuiet()
        let screensBefore = try await backend.screens(of: group)
        let pushCountBefore = try await match.deliveredPushCount()
        let registryBefore = try TopicContent(of: .registry, in: fleet.bed).newestValues
        let reportCount = try TopicContent(of: .reports, in: fleet.bed).records.count

        let output = try await fleet.runCommand(["replay", "reports", "--from", "1d", "--yes"])
        for send in sends.suffix(Self.resentSends) {
            _ = try await fleet.runCommand([
                "replay", "resend", send.id, "--app", fleet.mainApp.app.id, "--yes",
            ])
        }
        try writeSendsAgain()
        try await waitUntilQuiet()

        var faults: [String] = []
        if !output.contains("reads \(reportCount) reports again") {
            faults.append("not all of \(reportCount) reports were read again: \(output)")
        }
        if try TopicContent(of: .registry, in: fleet.bed).newestValues != registryBefore {
            faults.append("reports that were read again changed the registry")
        }
        if try await backend.screens(of: group) != screensBefore { faults.append("a replay changed a phone") }
        let replayedPushes = try await match.deliveredPushCount() - pushCountBefore
        if replayedPushes > 0 { faults.append("a replay pushed \(replayedPushes) times") }
        return faults
    }

    /// Waits until ingest and planner have read everything, and then for the time that the later stages need.
    private func waitUntilQuiet() async throws {
        var deadline = PollingDeadline(seconds: Self.quietSecondsMax)
        var lastActivity = Date()
        while Date().timeIntervalSince(lastActivity) < Self.quietSeconds {
            if try !isEverythingRead() { lastActivity = Date() }
            guard !deadline.hasPassed() else { throw FleetFailure("the fleet does not come to rest") }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Whether ingest and planner have committed the ends of their topics. A consumer never commits behind the marker of
    /// a transaction, but these two topics have no transactions.
    private func isEverythingRead() throws -> Bool {
        let layout = fleet.bed.layout
        return try [("ingest", TopicName.reports), ("planner", .sends)].allSatisfy { group, topic in
            let partitions = (0..<Int32(layout.partitionCount(of: topic))).map {
                TopicPartition(layout.name(of: topic), $0)
            }
            return try fleet.bed.admin.lag(of: layout.prefix + group, in: partitions).allSatisfy {
                $0.watermarks.high == 0 || $0.committed.offset == $0.watermarks.high
            }
        }
    }

    /// Writes every record of `sends` again, unchanged.
    private func writeSendsAgain() throws {
        let records = try TopicContent(of: .sends, in: fleet.bed).records
        let producer = try Producer(
            settings: fleet.bed.settings, name: "replay", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: fleet.bed.layout.name(of: .sends))
        for record in records {
            var headers = RecordHeaders(capacity: record.headers.count)
            for (name, value) in record.headers {
                headers.add(named: Array(name.utf8).span, value: Array(value.utf8).span)
            }
            let result = producer.send(
                to: topic, partition: record.partition, key: record.key?.span, value: record.value?.span,
                headers: &headers, tag: 1)
            guard result == .queued else { throw FleetFailure("a send was not queued: \(result)") }
        }
        var deliveries: [Delivery] = []
        _ = producer.flush(withinMilliseconds: 60_000, into: &deliveries)
        guard deliveries.count == records.count else { throw FleetFailure("sends were not stored again") }
    }
}
