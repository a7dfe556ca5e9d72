import IngestTesting
import Jobs
import KafkaTesting
import Payloads
import ProcessTesting
import Sender
import Testing
import Topics

@Suite(.timeLimit(.minutes(3))) struct IdleTimeTests {
    @Test(arguments: StageEnding.allCases)
    func `a sender that starts after an idle time pushes the next jobs`(end: StageEnding) async throws {
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
                after: end, group: "sender",
                reading: [.jobs, .jobsUrgent, .jobsLater5s, .jobsLater2m, .receipts])
        }
        let again = try await RunningSender(stand, slots: "one")
        for lane in 0..<Int32(SenderStand.lanes) {
            try stand.write(
                stand.head(.update, version: 2), to: Int(lane) * 10..<Int(lane) * 10 + 5, lane: lane)
        }
        try await eventually("the next jobs are pushed") {
            again.outcomes(.accepted) == 20 || again.failure != nil
        }
        #expect(again.failure == nil)
        try await eventually("the stage is ready") { again.service.readinessProblems == [] }
        await again.stop()
    }
}
