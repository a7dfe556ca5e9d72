package import Telemetry

/// A part of a process that runs until it is told to stop: a stage, the broker, an HTTP listener.
package protocol Service: Sendable {
    /// The operator's noun, as it stands in logs.
    var name: String { get }

    /// Returns when the service serves; throws when it cannot, and has then left nothing running.
    /// Whatever fails later is told through the context.
    func start(_ context: ServiceContext) async throws

    /// Stops taking, finishes what is in flight until the deadline, then flushes, commits and closes.
    func stop(by deadline: Instant) async
}

/// What a running service may ask of its process.
package struct ServiceContext: Sendable {
    package let log: Log
    package let metrics: Metrics
    private let onFailure: @Sendable (any Error) -> Void

    package init(log: Log, metrics: Metrics, onFailure: @escaping @Sendable (any Error) -> Void) {
        self.log = log
        self.metrics = metrics
        self.onFailure = onFailure
    }

    /// The service cannot go on. The process stops in order and exits with the error: a supervisor
    /// restarts it, which is the only repair that always works.
    package func fail(_ error: any Error) { onFailure(error) }
}
