internal import Catalog
internal import CatalogRecords
internal import Glibc
internal import Kafka
internal import Lifecycle
internal import StageSupport
internal import TLS
internal import Telemetry
internal import Topics

/// Starts and stops the loops of endpoints, as the catalog says. It runs on a separate thread, because it waits for the
/// threads of the loops to begin and to end.
///
/// Each change of an endpoint's record, such as another URL, a new secret or a replay, stops its loop and starts a new
/// one. So a loop never changes its endpoint.
final class EndpointDirector: ThreadLoop {
    /// The name of an endpoint in the installation.
    struct EndpointName: Hashable, Comparable, CustomStringConvertible {
        let app: String
        let name: String

        var description: String { "\(app)/\(name)" }

        static func < (a: EndpointName, b: EndpointName) -> Bool { (a.app, a.name) < (b.app, b.name) }
    }

    private struct Running {
        let parts: EndpointParts
        let owner: LoopOwned<EndpointLoop>
        var isStopping = false
    }

    private static let tickMilliseconds: UInt32 = 250
    /// The interval between two checks whether the loops have ended.
    private static let stopCheckMilliseconds: UInt32 = 10
    /// The longest time in which a loop finishes its calls.
    private static let drainMilliseconds = 15_000

    private let settings: WebhooksSettings
    private let environment: StageEnvironment
    private let context: ServiceContext
    private let metrics: WebhooksMetrics
    private let state: LoopState
    private let onStep: @Sendable (WebhooksStep) -> Void
    private let tls: TLSContext
    private var running: [EndpointName: Running] = [:]
    /// The reasons why endpoints cannot be served, as they were logged last.
    private var problems: [EndpointName: String] = [:]

    init(
        settings: WebhooksSettings, in environment: StageEnvironment, context: ServiceContext,
        state: LoopState, onStep: @escaping @Sendable (WebhooksStep) -> Void
    ) throws {
        self.settings = settings
        self.environment = environment
        self.context = context
        self.state = state
        self.onStep = onStep
        metrics = WebhooksMetrics(context.metrics)
        tls = try settings.makeTLSContext()
    }

    /// Runs until it is asked to stop. Then it stops all loops, and returns when the last one has ended.
    func run() {
        while !state.mustStop {
            removeStoppedLoops()
            tick()
            usleep(Self.tickMilliseconds * 1000)
        }
        for name in running.keys { stopLoop(of: name) }
        while !running.isEmpty {
            removeStoppedLoops()
            usleep(Self.stopCheckMilliseconds * 1000)
        }
        state.setReadinessProblems(["stopped"])
    }

    /// Compares the loops with the catalog, and stops and starts loops.
    private func tick() {
        guard let catalog = environment.catalog else {
            return state.setReadinessProblems(["the catalog is not read yet"])
        }
        disableGoneEndpoints(in: catalog)
        let known = catalog.webhooks.values.flatMap(\.values)
        // The oldest endpoints come first, so that a new one does not take the place of another.
        let enabled = known.filter { $0.disabling == nil && catalog.apps[$0.app] != nil }
            .sorted { ($0.createdAt, $0.app, $0.name) < ($1.createdAt, $1.app, $1.name) }
        let wanted = Dictionary(
            uniqueKeysWithValues: enabled.prefix(settings.endpointsMax).map {
                (EndpointName(app: $0.app, name: $0.name), $0)
            })
        for (name, loop) in running where wanted[name] != loop.parts.endpoint { stopLoop(of: name) }
        problems = problems.filter { wanted[$0.key] != nil && running[$0.key] == nil }
        for (name, endpoint) in wanted where running[name] == nil { startLoop(of: endpoint, named: name) }
        publish(known: known, enabledCount: enabled.count)
        state.setReadinessProblems([])
    }

    // MARK: Loops

    private func startLoop(of endpoint: WebhookEndpoint, named name: EndpointName) {
        guard let url = WebhookURL(endpoint.url) else { return report("its URL is not valid", of: name) }
        guard url.scheme == .https || settings.allowsHTTP else {
            return report("plain HTTP is not allowed; use https, or set webhooks.allow-http", of: name)
        }
        // The record may have only types that a newer program knows.
        guard !endpoint.types.isEmpty else {
            return report("this program knows none of its events", of: name)
        }
        let parts = EndpointParts(
            endpoint: endpoint, url: url, settings: settings, environment: environment, tls: tls,
            log: context.log, kafkaMetrics: context.metrics, metrics: metrics, report: EndpointReport(),
            onStep: onStep)
        do {
            let owner = try LoopOwned(thread: "webhook", priority: .background) {
                try EndpointLoop(parts, on: $0.loop)
            }
            running[name] = Running(parts: parts, owner: owner)
        } catch {
            report("its loop cannot start now: \(error)", of: name)
        }
    }

    /// Logs why an endpoint is not served, once for each reason. It does not make the process unready: an app must not
    /// take a gateway in the same process out of service.
    private func report(_ problem: String, of name: EndpointName) {
        guard problems.updateValue(problem, forKey: name) != problem else { return }
        context.log.warning(
            "a webhook endpoint is not called", .field("endpoint", name.description), .field("error", problem)
        )
    }

    private func stopLoop(of name: EndpointName) {
        guard let loop = running[name], !loop.isStopping else { return }
        running[name]?.isStopping = true
        let report = loop.parts.report
        let deadline = Instant.now().advanced(byMilliseconds: Self.drainMilliseconds)
        loop.owner.execute { $0.stop(by: deadline) { report.update { $0.hasStopped = true } } }
    }

    /// Ends the threads of the loops that have stopped.
    private func removeStoppedLoops() {
        for (name, loop) in running where loop.parts.report.current.hasStopped {
            running[name] = nil
            loop.owner.stop()
        }
    }

    // MARK: Endpoints that want no more calls

    /// Disables the endpoints that have answered 410, unless their records have changed since.
    private func disableGoneEndpoints(in catalog: CatalogSnapshot) {
        for (name, loop) in running {
            guard let goneAt = loop.parts.report.current.goneAt,
                var endpoint = catalog.webhooks(of: name.app)[name.name], endpoint == loop.parts.endpoint
            else { continue }
            endpoint.disabling = WebhookEndpoint.Disabling(
                at: goneAt, reason: "the endpoint answered 410 and wants no more calls")
            do {
                try makeWriter().write(.put(endpoint, action: "disable"), now: .now())
                context.log.warning(
                    "a webhook endpoint answered 410 and is disabled; enable it with `flotilla webhooks enable`",
                    .field("endpoint", name.description))
            } catch {
                context.log.warning(
                    "a webhook endpoint cannot be disabled now; the stage tries again",
                    .field("endpoint", name.description), .field("error", error))
            }
        }
    }

    private func makeWriter() throws -> CatalogWriter {
        let layout = environment.layout
        return try CatalogWriter(
            environment.cluster.settings, catalog: layout.name(of: .catalog), audit: layout.name(of: .audit),
            author: environment.identity(of: WebhooksService.name), metrics: context.metrics)
    }

    // MARK: Figures

    private func publish(known: [WebhookEndpoint], enabledCount: Int) {
        let reports = running.mapValues(\.parts.report.current)
        let oldest = reports.values.compactMap(\.oldestTime).min()
        let age = oldest.map { max(0, WallTime.now().milliseconds - $0) } ?? 0
        metrics.oldestSeconds.set(Double(age) / 1000)
        metrics.unfinishedEvents.set(Double(reports.values.reduce(0) { $0 + $1.unfinishedEvents }))
        metrics.inFlight.set(Double(reports.values.reduce(0) { $0 + $1.callsInFlight }))
        let servedCount = reports.values.count { $0.isServing }
        metrics.servedEndpoints.set(Double(servedCount))
        metrics.disabledEndpoints.set(Double(known.count { $0.disabling != nil }))
        metrics.waitingEndpoints.set(Double(max(0, enabledCount - servedCount)))
    }
}
