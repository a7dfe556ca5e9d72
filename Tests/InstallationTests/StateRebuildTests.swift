import Foundation
import InstallationTesting
import ProcessTesting
import Testing

/// `replay rebuild` loses nothing: a stage that rebuilds its files from the topics gets the same rows.
@Suite(.timeLimit(.minutes(10))) struct StateRebuildTests {
    /// The stages that have files which they build from topics.
    private static let stages = [FleetPlan.Stage.ingest, .fanOut, .scheduler]

    /// The test keeps a copy of the discarded files. At the end it brings the copy to the same offsets.
    @Test func `state that is rebuilt under traffic equals the state that was discarded`() async throws {
        let directory = try TemporaryDirectory()
        let programs = builtProductsDirectory
        var plan = FleetPlan()
        (plan.phones, plan.lanes) = (500, 4)
        let fleet = try await Fleet(plan: plan, programs: programs, directory: directory.path)
        let backend = FleetBackend(fleet: fleet)
        let match = FleetMatch(group: "match", fleet: fleet, backend: backend)
        try await match.waitUntilFound(phones: plan.phones, byDryRun: match.startBody(isDryRun: true))
        var sends = [try await match.send(match.startBody(), named: "start")]
        try await match.waitUntilFound(
            phones: plan.phones, byDryRun: match.updateBody(goals: 0, isDryRun: true))

        var goals = 0
        func sendUpdates() async throws {
            for _ in 1...10 {
                goals += 1
                sends.append(try await match.send(match.updateBody(goals: goals), named: "update-\(goals)"))
                // A scheduled update, so that the scheduler has timers.
                let scheduledBody =
                    match.updateBody(goals: goals).dropLast() + #","when":{"offset":3600}}"#
                _ = try await match.send(String(scheduledBody), named: "later-\(goals)")
            }
        }
        for stage in Self.stages {
            let member = try #require(fleet.members.first { $0.stage == stage })
            try await sendUpdates()
            try await fleet.rebuildState(
                of: member, copyingTo: directory.filePath(named: "discarded-\(stage.rawValue)"))
            try await sendUpdates()
        }
        for send in sends {
            try await eventually("\(send.id) is complete") {
                try await backend.progress(of: send, key: fleet.mainApp.readKey)?.isComplete == true
            }
        }
        try await fleet.stopGateways()
        try await fleet.stop()

        for stage in Self.stages {
            let member = try #require(fleet.members.first { $0.stage == stage })
            let rebuiltState = try await fleet.state(of: member)
            let discardedState = try await fleet.state(
                of: member, from: directory.filePath(named: "discarded-\(stage.rawValue)"))
            #expect(rebuiltState.rowCount > 0, "\(stage) has no rows")
            #expect(rebuiltState.differences(from: discardedState) == [], "\(stage)")
        }
    }
}
