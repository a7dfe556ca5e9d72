package import Telemetry

/// A part of a process that runs until the process stops it: a stage, the broker, an HTTP listener.
package protocol Service: Sendable {
    /// The operator's word for the service, as in logs.
    var name: String { get }

    /// Starts the service, and returns when it serves. If it throws, nothing of the service is left running.
    /// Later failures are reported through the context.
    func start(_ context: ServiceContext) async throws

    /// Stops accepting work, finishes the work in flight until the deadline, then flushes, commits and
    /// closes.
    func stop(by deadline: Instant) async
}

/// The log, the metrics and the failure handler that a process gives to a service.
package struct ServiceContext: Sendable {
    package let log: Log
    package let metrics: Metrics
    private let onFailure: @Sendable (any Error) -> Void

    package init(log: Log, metrics: Metrics, onFailure: @escaping @Sendable (any Error) -> Void) {
        self.log = log
        self.metrics = metrics
        self.onFailure = onFailure
    }

    /// Reports that the service cannot continue. The process stops in order and exits with the error. A
    /// supervisor then restarts it, which is the only repair that always works.
    package func fail(with error: any Error) { onFailure(error) }
}
