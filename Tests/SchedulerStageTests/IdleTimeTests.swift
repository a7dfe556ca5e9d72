import Identifiers
import IngestTesting
import KafkaTesting
import Lifecycle
import ProcessTesting
import Scheduler
import SchedulerTesting
import Schedules
import Sends
import Testing
import Topics

@Suite(.timeLimit(.minutes(3))) struct IdleTimeTests {
    @Test(arguments: StageEnding.allCases)
    func `a scheduler that starts after an idle time fires the next timer`(end: StageEnding) async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let orders = try RecordWriter(on: bed, to: .schedules)
        let stage = try await SchedulerStage(bed, directory: directory.path)
        for number in 0..<6 { orders.send(.schedule(order("first\(number)")), user: "user-first\(number)") }
        #expect(orders.finish())
        try await eventually("the first timers fire") { stage.fired == 6 || stage.failure != nil }
        await stage.stop()
        try await eventually("the idle time has passed") {
            try bed.simulateIdleTime(
                after: end, group: "scheduler", reading: [.schedules, .schedulesAuto])
        }
        let again = try await SchedulerStage(bed, directory: directory.path, after: stage)
        for number in 0..<6 { orders.send(.schedule(order("second\(number)")), user: "user-second\(number)") }
        #expect(orders.finish())
        try await eventually("the next timers fire") { again.fired == 6 || again.failure != nil }
        #expect(again.failure == nil)
        try await eventually("the stage is ready") { again.obstacles == [] }
        await again.stop()
    }

    private func order(_ id: String) -> Schedule {
        var send = ScheduleCommandGenerator.makeSend(id: "r-" + id, user: "user-\(id)", at: 1)
        send.owner = .user("user-\(id)")
        return Schedule(id: id, dueTime: .offset(200), send: send)
    }
}
