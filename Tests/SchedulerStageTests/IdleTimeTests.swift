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

/// Tests of a scheduler that starts again after a long time without commands. Retention has deleted all commands, so
/// its committed offsets lie at or below the first existing offset.
@Suite(.timeLimit(.minutes(3))) struct IdleTimeTests {
    @Test(arguments: StageEnding.allCases)
    func `a scheduler that starts after an idle time fires the next timer`(ending: StageEnding) async throws {
        let cluster = try TestCluster()
        let bed = try TestBed(brokers: cluster.brokers, lanes: 3)
        let directory = try TemporaryDirectory()
        let commands = try RecordWriter(on: bed, to: .schedules)
        let stage = try await SchedulerStage(bed, directory: directory.path)
        for number in 0..<6 {
            commands.send(.schedule(makeSchedule("first\(number)")), user: "user-first\(number)")
        }
        #expect(commands.finish())
        try await eventually("the first timers fire") { stage.firedCount == 6 || stage.failure != nil }
        await stage.stop()
        try await eventually("the idle time has passed") {
            try bed.simulateIdleTime(
                after: ending, group: "scheduler", reading: [.schedules, .schedulesAuto])
        }
        let restarted = try await SchedulerStage(bed, directory: directory.path, after: stage)
        for number in 0..<6 {
            commands.send(.schedule(makeSchedule("second\(number)")), user: "user-second\(number)")
        }
        #expect(commands.finish())
        try await eventually("the next timers fire") { restarted.firedCount == 6 || restarted.failure != nil }
        #expect(restarted.failure == nil)
        try await eventually("the stage is ready") { restarted.readinessProblems == [] }
        await restarted.stop()
    }

    private func makeSchedule(_ id: String) -> Schedule {
        var send = ScheduleCommandGenerator.makeSend(id: "r-" + id, user: "user-\(id)", at: 1)
        send.owner = .user("user-\(id)")
        return Schedule(id: id, dueTime: .offset(200), send: send)
    }
}
