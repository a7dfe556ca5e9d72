import IngestTesting
import Jobs
import KafkaTesting
import Payloads
import ProcessTesting
import Sender
import Testing
import Topics

/// Tests of a sender that starts again after a long time without jobs. Retention has deleted all jobs and receipts, so
/// the sender's committed offsets lie at or below the first existing offset.
@Suite(.timeLimit(.minutes(3))) struct IdleTimeTests {
    private static let jobsPerLane = 5
    private static let jobCount = SenderStand.laneCount * jobsPerLane

    /// Writes a sheet of updates into each lane.
    private func writeUpdates(version: Int64, on stand: SenderStand) throws {
        for lane in 0..<Int32(SenderStand.laneCount) {
            let firstPhone = Int(lane) * 10
            try stand.write(
                stand.sheetHead(.update, version: version), to: firstPhone..<firstPhone + Self.jobsPerLane,
                lane: lane)
        }
    }

    @Test(arguments: StageEnding.allCases)
    func `a sender that starts after an idle time pushes the next jobs`(ending: StageEnding) async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        let sender = try await RunningSender(on: stand)
        try writeUpdates(version: 1, on: stand)
        try await eventually("the first jobs are pushed") {
            sender.jobCount(.accepted) == Self.jobCount || sender.failure != nil
        }
        await sender.stop()
        try await eventually("the idle time has passed") {
            try stand.bed.simulateIdleTime(
                after: ending, group: "sender",
                reading: [.jobs, .jobsUrgent, .jobsLater5s, .jobsLater2m, .receipts])
        }
        let restarted = try await RunningSender(on: stand)
        try writeUpdates(version: 2, on: stand)
        try await eventually("the next jobs are pushed") {
            restarted.jobCount(.accepted) == Self.jobCount || restarted.failure != nil
        }
        #expect(restarted.failure == nil)
        try await eventually("the stage is ready") { restarted.service.readinessProblems == [] }
        await restarted.stop()
    }
}
