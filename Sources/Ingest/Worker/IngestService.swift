internal import Kafka
package import Lifecycle
internal import Synchronization
package import Telemetry
package import Topics

/// The stage that merges reports, as a part of a process: one loop on a thread of its own.
package final class IngestService: Stage {
    /// What it reads and writes.
    package static let topics: [TopicName] = [
        .catalog, .reports, .installations, .registry, .events, .deadLetters,
    ]

    package let name = "ingest"
    private let settings: IngestSettings
    private let place: @Sendable () -> IngestPlace
    private let clock: @Sendable () -> WallTime
    private let onStep: @Sendable (IngestStep) -> Void
    private let shared = IngestShared()
    private let thread = Mutex<WorkerThread?>(nil)

    /// - Parameters:
    ///   - place: asked for when it starts.
    ///   - clock: what this process takes for the time.
    ///   - onStep: told of every step, on the loop's thread; for tests, which end the process there.
    package init(
        _ settings: IngestSettings, place: @escaping @Sendable () -> IngestPlace,
        clock: @escaping @Sendable () -> WallTime = { .now() },
        onStep: @escaping @Sendable (IngestStep) -> Void = { _ in }
    ) {
        self.settings = settings
        self.clock = clock
        self.place = place
        self.onStep = onStep
    }

    package var obstacles: [String] { shared.obstacles }

    package func start(_ context: ServiceContext) async throws {
        let (settings, place, clock, shared, onStep) = (settings, place(), clock, shared, onStep)
        FreedMemory.keep()
        try await withCheckedThrowingContinuation { (started: CheckedContinuation<Void, any Error>) in
            do {
                let worker = try WorkerThread(name: "ingest") {
                    let loop: IngestLoop
                    do {
                        loop = try IngestLoop(
                            settings, place, clock: clock, shared: shared, log: context.log,
                            metrics: context.metrics, onStep: onStep)
                    } catch {
                        return started.resume(throwing: error)
                    }
                    started.resume()
                    do {
                        try loop.run()
                    } catch {
                        context.fail(error)
                    }
                }
                thread.withLock { $0 = worker }
            } catch {
                started.resume(throwing: error)
            }
        }
    }

    package func stop(by deadline: Instant) async {
        shared.stop()
        let worker = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        worker?.join()
    }
}
