package import Telemetry

/// The services of a process from start to stop. They start in order, because later services depend on
/// earlier ones, and stop in reverse order within one time limit. Every service that has started is stopped.
package struct ServiceRunner: Sendable {
    private let services: [any Service]
    private let log: Log
    private let metrics: Metrics
    /// The time limit for stopping all services together.
    private let drainMilliseconds: Int
    /// Called if the services exceed the limit, with the name of the service that is stopping then. It must
    /// end the process and not return.
    private let onOverrun: @Sendable (_ service: String) -> Void

    package init(
        _ services: [any Service], log: Log, metrics: Metrics, drainMilliseconds: Int,
        onOverrun: @escaping @Sendable (_ service: String) -> Void
    ) {
        self.services = services
        self.log = log
        self.metrics = metrics
        self.drainMilliseconds = drainMilliseconds
        self.onOverrun = onOverrun
    }

    /// Starts the services, waits for the request to stop, and stops them. Throws the error of a service that
    /// could not start or continue, after all other services have stopped.
    ///
    /// - Parameter onServing: Called when all services have started.
    package func run(until shutdown: Shutdown, onServing: @Sendable () -> Void = {}) async throws {
        var running: [any Service] = []
        for service in services where !shutdown.isRequested {
            let context = ServiceContext(log: log.forComponent(service.name), metrics: metrics) { error in
                shutdown.request(because: .failure(error))
            }
            do {
                try await service.start(context)
            } catch {
                await stop(running)
                throw error
            }
            running.append(service)
        }
        if !shutdown.isRequested { onServing() }
        let reason = await shutdown.wait()
        if case .signal(let name) = reason { log.info("stopping", .field("signal", name)) }
        await stop(running)
        if case .failure(let error) = reason { throw error }
    }

    private func stop(_ running: [any Service]) async {
        let deadline = Instant.now().advanced(byMilliseconds: drainMilliseconds)
        let watchdog = DrainWatchdog(deadline: deadline) { [onOverrun, log] name in
            log.error(
                "the service did not stop in time; the process exits as if killed, and no acknowledged data is lost",
                .field("service", name))
            onOverrun(name)
        }
        for service in running.reversed() {
            watchdog.watch(service: service.name)
            await service.stop(by: deadline)
        }
        watchdog.end()
    }
}
