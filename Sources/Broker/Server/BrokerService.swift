internal import Glibc
package import Lifecycle

/// The broker as a part of a process that starts and stops services in order.
///
/// `@unchecked Sendable`: `running` is written by `start` and `stop`, which one after the other are
/// called by the process, and read by nobody else.
package final class BrokerService: Service, @unchecked Sendable {
    package let name = "broker"
    private let settings: BrokerSettings
    private let onServing: @Sendable (RunningBroker) -> Void
    private var running: RunningBroker?

    /// `onServing` learns the port when the system chose it.
    package init(
        _ settings: BrokerSettings, onServing: @escaping @Sendable (RunningBroker) -> Void = { _ in }
    ) {
        self.settings = settings
        self.onServing = onServing
    }

    package func start(_ context: ServiceContext) async throws {
        let broker = try RunningBroker(settings, log: context.log, metrics: context.metrics)
        running = broker
        onServing(broker)
    }

    package func stop(by deadline: Instant) async {
        running?.stop()
        running = nil
    }
}
