internal import HTTPServer
internal import Lifecycle
internal import StageSupport
internal import Synchronization
internal import Telemetry

/// The thread for the calls about dead letters: it lists, redrives and discards them. It works on one call at a time,
/// because a call reads a whole topic. It uses the same code as the command line, so both refuse the same things.
final class DeadLetterService: Sendable {
    private let processor: LoopOwned<DeadLetterProcessor>
    private let stopping: AtomicFlag
    private let waiting = Atomic<Int>(0)

    init(in environment: StageEnvironment, log: Log) throws {
        let stopping = AtomicFlag()
        self.stopping = stopping
        processor = try LoopOwned(thread: "letters") { _ in
            DeadLetterProcessor(in: environment, log: log, stopping: stopping)
        }
    }

    /// Stops the service. A running call ends between two dead letters, and a later call can continue from there.
    func stop() {
        stopping.raise()
        processor.stop { $0.close() }
    }

    enum DeadLetterCommand: Sendable {
        case redrive
        case discard
    }

    // MARK: From the server's threads
    //
    // Each call returns false, without an answer, if too many calls wait.

    /// - Parameter isEach: Whether to list each dead letter. Otherwise the answer has the sums by reason.
    func list(for authorized: AuthorizedRequest, query: DeadLetterQuery, isEach: Bool) -> Bool {
        enqueue(authorized) { isEach ? try $0.list(query) : try $0.summarize(query) }
    }

    func show(for authorized: AuthorizedRequest, query: DeadLetterQuery) -> Bool {
        enqueue(authorized) { try $0.show(query) }
    }

    func perform(for authorized: AuthorizedRequest, command: DeadLetterCommand) -> Bool {
        enqueue(authorized) { try $0.perform(command, for: authorized) }
    }

    private func enqueue(
        _ authorized: AuthorizedRequest,
        call: @escaping @Sendable (DeadLetterProcessor) throws -> HTTPResponse
    ) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= GatewayLimits.deadLetterCallsWaitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        let isTaken = processor.execute { processor in
            self.waiting.subtract(1, ordering: .relaxed)
            authorized.reply.send(processor.respond { try call(processor) })
        }
        if !isTaken { waiting.subtract(1, ordering: .relaxed) }
        return isTaken
    }
}
