import Foundation
import InstallationTesting
import ProcessTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct RebuildTests {
    private static let stages = [FleetPlan.Stage.ingest, .fanOut, .scheduler]

    /// The discarded state is kept and brought to the same end, for the comparison.
    @Test func `state that is rebuilt under traffic equals the state that was discarded`() async throws {
        let directory = try TemporaryDirectory()
        let programs = URL(fileURLWithPath: builtProduct("flotilla")).deletingLastPathComponent().path
        var plan = FleetPlan()
        (plan.phones, plan.lanes) = (500, 4)
        let fleet = try await Fleet(plan, programs: programs, directory: directory.path)
        let backend = FleetBackend(fleet)
        let match = FleetMatch("match", of: fleet, by: backend)
        try await match.waits(for: plan.phones, in: match.start(isDryRun: true))
        var sends = [try await match.send(match.start(), "start")]
        try await match.waits(for: plan.phones, in: match.update(0, isDryRun: true))

        var goals = 0
        func play() async throws {
            for _ in 1...10 {
                goals += 1
                sends.append(try await match.send(match.update(goals), "update-\(goals)"))
                let later = match.update(goals).dropLast() + #","when":{"offset":3600}}"#
                _ = try await match.send(String(later), "later-\(goals)")
            }
        }
        for stage in Self.stages {
            let member = try #require(fleet.members.first { $0.stage == stage })
            try await play()
            try await fleet.rebuild(member, keeping: directory.file("kept-\(stage.rawValue)"))
            try await play()
        }
        for send in sends {
            try await eventually("\(send.id) is complete") {
                try await backend.progress(of: send, key: fleet.shop.readKey)?.isComplete == true
            }
        }
        try await fleet.closeDoors()
        try await fleet.stop()

        for stage in Self.stages {
            let member = try #require(fleet.members.first { $0.stage == stage })
            let rebuilt = try await fleet.state(of: member)
            let kept = try await fleet.state(of: member, from: directory.file("kept-\(stage.rawValue)"))
            #expect(rebuilt.rows > 0)
            #expect(rebuilt.differences(from: kept) == [], "\(stage)")
        }
    }
}
