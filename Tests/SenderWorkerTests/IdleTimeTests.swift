import IngestTesting
import Jobs
import KafkaTesting
import Payloads
import ProcessTesting
import Sender
import Testing
import Topics

/// The sender survives an idle time in which retention deletes the jobs and receipts.
@Suite(.timeLimit(.minutes(3))) struct IdleTimeTests {
    @Test(arguments: StageEnding.allCases)
    func `a sender that starts after an idle time pushes the next jobs`(ending: StageEnding) async throws {
        let cluster = try TestCluster()
        let stand = try SenderStand(cluster.brokers)
        let sender = try await RunningSender(stand, slots: "one")
        for lane in 0..<Int32(SenderStand.lanes) {
            try stand.write(stand.head(.update), to: Int(lane) * 10..<Int(lane) * 10 + 5, lane: lane)
        }
        try await eventually("the first jobs are pushed") {
            sender.outcomes(.accepted) == 20 || sender.failure != nil
        }
        await sender.stop()
        try await eventually("the idle time has passed") {
            try stand.bed.simulateIdleTime(
                after: ending, group: "sender",
                reading: [.jobs, .jobsUrgent, .jobsLater5s, .jobsLater2m, .receipts])
        }
        let restarted = try await RunningSender(stand, slots: "one")
        for lane in 0..<Int32(SenderStand.lanes) {
            try stand.write(
                stand.head(.update, version: 2), to: Int(lane) * 10..<Int(lane) * 10 + 5, lane: lane)
        }
        try await eventually("the next jobs are pushed") {
            restarted.outcomes(.accepted) == 20 || restarted.failure != nil
        }
        #expect(restarted.failure == nil)
        try await eventually("the stage is ready") { restarted.service.readinessProblems == [] }
        await restarted.stop()
    }
}
