internal import CatalogRecords
internal import HTTPServer
internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The threads for the calls about dead letters: they list, redrive and discard them. An app has one of them at a time,
/// because a call reads a whole topic. It uses the same code as the command line, so both refuse the same things.
final class DeadLetterService: Sendable {
    private let threads: FairThreads<DeadLetterProcessor>
    private let stopping: AtomicFlag

    init(in environment: StageEnvironment, log: Log) throws {
        let stopping = AtomicFlag()
        self.stopping = stopping
        threads = FairThreads(
            name: "letters", threads: GatewayLimits.deadLetterThreads,
            limits: .init(
                waitingPerCallerMax: GatewayLimits.deadLetterCallsPerAppWaitingMax,
                waitingMax: GatewayLimits.deadLetterCallsWaitingMax)
        ) { _ in DeadLetterProcessor(in: environment, log: log, stopping: stopping) }
    }

    /// Stops the service. A running call ends between two dead letters, and a later call can continue from there.
    func stop() {
        stopping.raise()
        threads.stop { $0.close() }
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
        threads.run(for: authorized.caller.app.id) { processor in
            guard let processor else { return authorized.reply.send(Unavailable.overloaded) }
            authorized.reply.send(processor.respond { try call(processor) })
        }
    }
}
