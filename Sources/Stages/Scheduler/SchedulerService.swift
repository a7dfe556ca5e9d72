package import StageSupport
package import Telemetry
package import Topics

/// The stage that stores scheduled sends as timers, and writes the sends when they are due. It has one loop with its
/// own thread.
package final class SchedulerService: LoopStage {
    package static let name = "scheduler"
    package static let summary = "writes scheduled sends when they are due, once each"
    package static let fileDescriptors = StageFileDescriptors(clients: 4, filesPerLane: 1)
    package static let topics: [TopicName] = [
        .schedules, .schedulesAuto, .timers, .sendsTimed, .progress, .replies, .deadLetters,
    ]

    package let threads: StageThreads

    package convenience init(_ settings: SchedulerSettings, in environment: StageEnvironment) {
        self.init(settings, in: environment) { _ in }
    }

    /// - Parameters:
    ///   - clock: the clock of this machine.
    ///   - onStep: called at every step, on the loop's thread. Tests end the process there.
    package init(
        _ settings: SchedulerSettings, in environment: StageEnvironment,
        clock: @escaping @Sendable () -> WallTime = { .now() },
        onStep: @escaping @Sendable (SchedulerStep) -> Void
    ) {
        let loop = StageThreads.Loop(name: Self.name, clock: clock, onStep: onStep) { context in
            try SchedulerDecider(settings: settings, in: environment, context: context)
        }
        threads = StageThreads(loops: [loop])
    }
}
