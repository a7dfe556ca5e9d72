package import Telemetry

/// Runs services: started in order, because later ones lean on earlier ones; stopped in reverse, all
/// within one limit. It never leaves a service running whose start it saw succeed.
package struct Services: Sendable {
    private let services: [any Service]
    private let log: Log
    private let metrics: Metrics
    /// How long all services together may take to stop.
    private let drainMilliseconds: Int
    /// Called when they did not; never returns to a process that would hang.
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

    /// Returns after an orderly stop; throws the error of the service that could not start or go on,
    /// when everything else has been stopped.
    ///
    /// - Parameter onServing: told when all have started.
    package func run(until shutdown: Shutdown, onServing: @Sendable () -> Void = {}) async throws {
        var running: [any Service] = []
        for service in services where !shutdown.isRequested {
            let context = ServiceContext(log: log.component(service.name), metrics: metrics) { error in
                shutdown.request(.failure(error))
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
                "did not stop in time; the process exits as if killed, and nothing acknowledged is lost",
                .field("service", name))
            onOverrun(name)
        }
        for service in running.reversed() {
            watchdog.watch(service.name)
            await service.stop(by: deadline)
        }
        watchdog.end()
    }
}
