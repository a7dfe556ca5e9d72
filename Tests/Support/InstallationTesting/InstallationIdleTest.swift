internal import Foundation
internal import Glibc
internal import IngestTesting
internal import ProcessTesting
internal import Topics

/// A test of a fleet that is idle until retention has deleted every record of the topics that are deleted by time.
/// Every stage then starts again, and the next match must reach every phone.
///
/// The test plays three matches with two idle times between them. Before the first idle time every process stops with
/// SIGTERM, and before the second one it is killed right after its last transaction. An idle time does not pass: the
/// test deletes the records that retention would delete.
package final class InstallationIdleTest {
    package struct Plan: Sendable {
        package var phones = 2_000
        package var updates = 10
        package var lanes = 12

        package init() {}
    }

    private static let waitSecondsMax = 120.0
    private static let pollMilliseconds = 100

    private let plan: Plan
    private let fleet: Fleet
    private let backend: FleetBackend
    /// The goals in the newest content state. They rise over all matches, so that no two states are equal.
    private var goals = 0
    /// The sends of the first match.
    private var firstSends: [FleetBackend.AcceptedSend] = []
    private var firstGroup: String { groupID(ofMatch: "first") }
    private var faults: [String] = []

    /// - Parameters:
    ///   - programs: The directory that contains `flotilla`.
    ///   - brokers: A running cluster, or nil for a separate broker.
    package init(plan: Plan, programs: String, brokers: [String]?, directory: String) async throws {
        self.plan = plan
        var fleetPlan = FleetPlan()
        fleetPlan.stages = FleetPlan.Stage.allCases
        (fleetPlan.phones, fleetPlan.lanes, fleetPlan.brokers) = (plan.phones, plan.lanes, brokers)
        fleet = try await Fleet(plan: fleetPlan, programs: programs, directory: directory)
        backend = FleetBackend(fleet: fleet)
    }

    /// - Returns: The faults as texts.
    package func run() async throws -> [String] {
        defer { try? fleet.writeLogs() }
        firstSends = try await playMatch(named: "first")
        try await waitUntilRead(by: "insight", topics: [.receipts, .progress, .events])
        try checkProcessesRun(moment: "in the first match")
        try await passIdleTime(endingBy: SIGTERM)
        _ = try await playMatch(named: "second")
        try checkProcessesRun(moment: "after a regular stop and an idle time")
        try await passIdleTime(endingBy: SIGKILL)
        _ = try await playMatch(named: "third")
        try checkProcessesRun(moment: "after a kill and an idle time")
        checkNoFileWasDiscarded()
        try await checkFirstMatchIsKnown()
        try await fleet.stop()
        return faults
    }

    private func groupID(ofMatch name: String) -> String { "match-\(name)" }

    /// Plays a match from its start to its end, and waits until every phone shows the newest state.
    private func playMatch(named name: String) async throws -> [FleetBackend.AcceptedSend] {
        let match = FleetMatch(group: groupID(ofMatch: name), fleet: fleet, backend: backend)
        try await match.waitUntilFound(phones: plan.phones, byDryRun: match.startBody(isDryRun: true))
        var sends = [try await match.send(match.startBody(), named: "\(name)-start")]
        try await match.waitUntilFound(
            phones: plan.phones, byDryRun: match.updateBody(goals: goals, isDryRun: true))
        for _ in 0..<plan.updates {
            goals += 1
            sends.append(try await match.send(match.updateBody(goals: goals), named: "\(name)-\(goals)"))
        }
        try await waitUntilShown(match.contentState(goals: goals), in: match)
        goals += 1
        sends.append(try await match.send(match.endBody(goals: goals), named: "\(name)-end"))
        try await waitUntilShown(match.contentState(goals: goals), in: match)
        return sends
    }

    /// Waits until every phone shows one activity of the match, with this content state.
    private func waitUntilShown(_ state: String, in match: FleetMatch) async throws {
        var deadline = PollingDeadline(seconds: Self.waitSecondsMax)
        var screens = ""
        while !deadline.hasPassed() {
            screens = try await backend.screens(of: match.group)
            let areAllEqual = screens.contains(
                #""activities":\#(plan.phones),"phonesWithSeveral":0,"states":1,"#)
            if areAllEqual, screens.contains(#""contentState":\#(state),"#) { return }
            try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
        }
        let logs = fleet.members.map { "\($0.name): \($0.process.errors.suffix(1_500))" }
        throw FleetFailure("phones do not show \(state): \(screens)\n\(logs.joined(separator: "\n"))")
    }

    // MARK: The idle time

    /// Ends all processes with the signal, deletes the records, and starts the processes again.
    private func passIdleTime(endingBy signal: Int32) async throws {
        // Reports, sends and schedules that no stage has read would be lost for good.
        try await waitUntilRead(by: "ingest", topics: [.reports])
        try await waitUntilRead(by: "planner", topics: [.sends])
        try await waitUntilRead(by: "scheduler", topics: [.schedules])
        for member in fleet.members { member.process.send(signal: signal) }
        for member in fleet.members {
            let status = try await member.process.exitStatus()
            if signal == SIGTERM, status != 0 {
                faults.append("\(member.name) stopped with status \(status)")
            }
        }
        try fleet.bed.expireRecords(
            of: TopicName.allCases.filter { fleet.bed.layout.isDeletedByTime($0) })
        for member in fleet.members { try await member.startAgain() }
        try await fleet.waitForGateways()
    }

    // MARK: The checks

    /// Checks that all processes run now, because only this test may end them.
    private func checkProcessesRun(moment: String) throws {
        for member in fleet.members where !member.process.isRunning {
            faults.append("\(member.name) ended by itself \(moment): \(member.process.errors.suffix(1_500))")
        }
    }

    private func waitUntilRead(by group: String, topics: [TopicName]) async throws {
        var deadline = PollingDeadline(seconds: Self.waitSecondsMax)
        while !fleet.bed.isEverythingRead(by: group, in: topics) {
            guard !deadline.hasPassed() else { throw FleetFailure("\(group) does not read its topics") }
            try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
        }
    }

    /// Checks that insight kept its files, because it can no longer build them from the topics.
    private func checkNoFileWasDiscarded() {
        for member in fleet.members where member.stage == .insight {
            for log in member.logs where log.contains("file discarded") {
                faults.append("\(member.name) discarded a file: \(log.suffix(1_500))")
            }
        }
    }

    /// Checks that insight still knows the first match, which is older than every record that is left.
    private func checkFirstMatchIsKnown() async throws {
        var deadline = PollingDeadline(seconds: Self.waitSecondsMax)
        var missingIDs = firstSends.map(\.id)
        var answer = ""
        while !missingIDs.isEmpty, !deadline.hasPassed() {
            answer =
                try await backend.get(path: "/v1/sends?group=\(firstGroup)", key: fleet.mainApp.readKey)?.text
                ?? ""
            missingIDs.removeAll { answer.contains($0) }
            try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
        }
        if !missingIDs.isEmpty {
            faults.append(
                "insight has lost \(missingIDs.count) sends of the first match: \(answer.prefix(500))")
        }
    }
}
