internal import Lifecycle
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

    /// The freed memory that each heap keeps. The threads of the Kafka clients have separate heaps.
    private static let keptBytes: Int32 = 16 << 20
    /// The size from which allocations are mapped. LMDB allocates lists of 1 and 2 MiB for each file and hardly uses
    /// them. Mapped and unused, they take no memory.
    private static let mappedBytes: Int32 = 1 << 20

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
        let loop = StageThreads.Loop(name: Self.name, priority: .background, clock: clock, onStep: onStep) {
            context in
            try IngestDecider(
                settings: settings, in: environment, context: context, settleMilliseconds: settleMilliseconds)
        }
        threads = StageThreads(loops: [loop]) {
            AllocatorSettings.keepFreedMemory(keptBytes: Self.keptBytes, mappedBytes: Self.mappedBytes)
        }
    }
}
