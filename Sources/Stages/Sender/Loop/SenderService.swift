internal import APNs
package import Lifecycle
package import StageSupport
internal import Telemetry
package import Topics

/// The sender as a stage of a process. It starts the event loops, and stops them. They share only the provider keys,
/// the readiness and the clock.
package final class SenderService: Stage {
    package static let name = "sender"
    package static let summary = "pushes jobs to APNs, and writes a receipt for each"
    package static let fileDescriptors = StageFileDescriptors(clients: 4)
    package static let topics: [TopicName] = [
        .catalog, .jobsUrgent, .jobs, .jobsLater5s, .jobsLater2m, .receipts, .superseded, .reports,
        .deadLetters,
    ]

    /// The running parts.
    private struct Parts: Sendable {
        var loops: [LoopOwned<SenderLoop>] = []
        var keys: ProviderKeyWatcher
    }

    private let settings: SenderSettings
    private let environment: StageEnvironment
    private let shared = SharedSenderState()
    private let started = StartedParts<Parts>()

    package init(_ settings: SenderSettings, in environment: StageEnvironment) {
        self.settings = settings
        self.environment = environment
        shared.setReadinessProblems(["it is starting"], ofLoop: 0)
    }

    private var destination: PushDestination {
        PushDestination(settings, standIn: environment.embeddedSimulator?.accessDetails)
    }

    package var readinessProblems: [String] { shared.readinessProblems }

    package func start(_ context: ServiceContext) async throws {
        // Memory is freed and needed again all the time. A heap that returned it would fetch it again page by page.
        AllocatorSettings.keepFreedMemory()
        let providerTokens = makeProviderTokens(in: context)
        let keyWatcher = ProviderKeyWatcher(tokens: providerTokens)
        try await keyWatcher.start(context)
        do {
            started.set(Parts(loops: try makeLoops(with: providerTokens, in: context), keys: keyWatcher))
        } catch {
            await keyWatcher.stop(by: .now())
            throw error
        }
    }

    /// Starts the loops without the service that watches the key files. A simulation calls it, because that service
    /// waits on a thread of its own.
    package func startLoops(in context: ServiceContext) throws {
        let providerTokens = makeProviderTokens(in: context)
        started.set(
            Parts(
                loops: try makeLoops(with: providerTokens, in: context),
                keys: ProviderKeyWatcher(tokens: providerTokens)))
    }

    /// Makes the provider tokens, which are signed with the keys in files. A key that cannot be read is reported, and
    /// may come later.
    private func makeProviderTokens(in context: ServiceContext) -> ProviderTokens {
        let shared = shared
        let providerTokens = ProviderTokens(source: destination.keys, metrics: context.metrics) { now in
            shared.providerClocks(at: now)
        }
        for problem in providerTokens.reload() {
            context.log.error(
                "provider key cannot be used; correct its file", .field("problem", problem.description))
        }
        return providerTokens
    }

    /// Makes all loops and starts them. If one fails, the others are stopped.
    private func makeLoops(
        with providerTokens: ProviderTokens, in context: ServiceContext
    ) throws -> [LoopOwned<SenderLoop>] {
        let provider = try APNsProvider(
            settings: destination.apns, tokens: providerTokens, metrics: context.metrics, log: context.log)
        var loops: [LoopOwned<SenderLoop>] = []
        do {
            for number in 0..<settings.loops {
                loops.append(try startLoop(number, with: provider, in: context))
            }
        } catch {
            for loop in loops { loop.stop { $0.deregister() } }
            throw error
        }
        return loops
    }

    /// Starts an event loop on a new thread, with a sender on it.
    private func startLoop(
        _ number: Int, with provider: APNsProvider, in context: ServiceContext
    ) throws -> LoopOwned<SenderLoop> {
        let (settings, environment, shared) = (settings, environment, shared)
        return try LoopOwned(thread: "sender-\(number)") {
            let sender = try SenderLoop(
                number, settings, in: environment, provider: provider, on: $0.loop, shared: shared,
                context: context)
            try sender.begin()
            return sender
        }
    }

    package func stop(by deadline: Instant) async {
        guard let parts = started.take() else { return }
        await withTaskGroup(of: Void.self) { group in
            for loop in parts.loops {
                group.addTask {
                    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                        Self.stop(loop, by: deadline) { done.resume() }
                    }
                }
            }
        }
        for loop in parts.loops { await loop.stop { $0.deregister() } }
        await parts.keys.stop(by: deadline)
    }

    /// Asks the loops to stop, and does not wait. A simulation calls it, because a task waits on a thread of its own.
    ///
    /// - Parameter done: called once for each loop, on the loop's thread.
    /// - Returns: the number of loops.
    package func stopLoops(by deadline: Instant, done: @escaping @Sendable () -> Void) -> Int {
        let loops = started.take()?.loops ?? []
        for loop in loops { Self.stop(loop, by: deadline, done: done) }
        return loops.count
    }

    private static func stop(
        _ loop: LoopOwned<SenderLoop>, by deadline: Instant, done: @escaping @Sendable () -> Void
    ) {
        let isRunning = loop.execute { $0.stop(by: deadline, done) }
        if !isRunning { done() }
    }
}
