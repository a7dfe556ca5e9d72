package import StageSupport
package import Telemetry
package import Topics

/// The stage that merges reports into installations. It has one loop with its own thread.
package final class IngestService: LoopStage {
    package static let name = "ingest"
    package static let summary = "merges the reports of phones into the registry of tokens"
    package static let fileDescriptors = StageFileDescriptors(clients: 4, filesPerLane: 1)
    package static let topics: [TopicName] = [
        .catalog, .reports, .installations, .registry, .events, .deadLetters,
    ]

    package let threads: StageThreads

    package convenience init(_ settings: IngestSettings, in environment: StageEnvironment) {
        self.init(settings, in: environment) { _ in }
    }

    /// - Parameters:
    ///   - clock: the clock of this machine.
    ///   - settleMilliseconds: the time for which the loop watches the clocks before its first irreversible act.
    ///   - onStep: called at every step, on the loop's thread. Tests end the process there.
    package init(
        _ settings: IngestSettings, in environment: StageEnvironment,
        clock: @escaping @Sendable () -> WallTime = { .now() },
        settleMilliseconds: Int = ClusterClock.settleMilliseconds,
        onStep: @escaping @Sendable (IngestStep) -> Void
    ) {
        let loop = StageThreads.Loop(name: Self.name, clock: clock, onStep: onStep) { context in
            try IngestDecider(
                settings: settings, in: environment, context: context, settleMilliseconds: settleMilliseconds)
        }
        threads = StageThreads(loops: [loop])
    }
}
