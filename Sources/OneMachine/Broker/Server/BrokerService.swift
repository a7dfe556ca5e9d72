package import Lifecycle

/// The broker as a service of a process that starts and stops services in order.
package final class BrokerService: Service {
    package let name = "broker"
    private let settings: BrokerSettings
    private let onServing: @Sendable (RunningBroker) -> Void
    private let started = StartedParts<RunningBroker>()

    /// Calls `onServing` when the broker serves, for example to get the port that the system chose.
    package init(
        settings: BrokerSettings, onServing: @escaping @Sendable (RunningBroker) -> Void = { _ in }
    ) {
        self.settings = settings
        self.onServing = onServing
    }

    package func start(_ context: ServiceContext) async throws {
        let broker = try RunningBroker(settings: settings, log: context.log, metrics: context.metrics)
        started.set(broker)
        onServing(broker)
    }

    package func stop(by deadline: Instant) async {
        started.take()?.stop()
    }
}
