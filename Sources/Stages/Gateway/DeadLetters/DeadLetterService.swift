internal import CatalogRecords
internal import HTTPServer
internal import Lifecycle
internal import StageSupport
internal import Telemetry

/// The threads for the calls that list, redrive and discard dead letters. Each app has at most one of the threads at a
/// time, because a call reads a whole topic. The calls run the same code as the command line, so both refuse the same
/// things.
final class DeadLetterService: Sendable {
    private let threads: FairThreads<DeadLetterProcessor>
    private let stopping: AtomicFlag

    init(in environment: StageEnvironment, log: Log) throws {
        let stopping = AtomicFlag()
        self.stopping = stopping
        threads = FairThreads(
            name: "letters", priority: .background, threads: GatewayLimits.deadLetterThreads,
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

    /// Takes over a call and the duty to answer it. Returns false, without taking over either, if too many calls wait.
    func accept(_ call: DeadLetterCall, for authorized: AuthorizedRequest) -> Bool {
        threads.run(for: authorized.caller.app.id) { processor in
            // Without a processor its thread could not start, or the service has stopped.
            authorized.reply.send(
                processor?.response(to: call, of: authorized) ?? Unavailable.overloaded)
        }
    }
}
