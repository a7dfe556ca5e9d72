internal import Catalog
internal import CatalogRecords
internal import FanOut
internal import FanOutTesting
internal import Glibc
internal import Ingest
internal import IngestTesting
internal import Insight
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Scheduler
internal import Sender
internal import SenderTesting
internal import Settings
internal import StageSupport
internal import Telemetry
internal import TokenSealing
internal import Topics
internal import Webhooks
internal import WebhooksTesting

/// A stage in a separate process, for proofs and benchmarks. It runs as in `flotilla run` but without a
/// catalog, and it can end at a given step.
enum StageWorker {
    static func runIngest(arguments: [String]) throws {
        var settings = IngestSettings()
        let options = try StageWorkerOptions(parsing: arguments)
        settings.sessionMilliseconds = options.sessionMilliseconds ?? StageProcess.sessionMilliseconds
        // The batches are small, so that there are more steps at which the process can die.
        settings.batchRecordsMax = options.batchRecords ?? 2000
        settings.sweepMilliseconds = options.sweepMilliseconds ?? settings.sweepMilliseconds
        try run(options: options, name: "ingest") { [settings] environment, killTrigger in
            IngestService(
                settings, in: environment,
                // A proof of the sweep does not wait until the clocks are watched for a minute.
                settleMilliseconds: options.sweepMilliseconds == nil ? ClusterClock.settleMilliseconds : 0,
                onStep: { killTrigger.didReach(step: $0.rawValue) })
        }
    }

    static func runPlanner(arguments: [String]) throws {
        var settings = FanOutSettings()
        let options = try StageWorkerOptions(parsing: arguments)
        settings.sessionMilliseconds = options.sessionMilliseconds ?? StageProcess.sessionMilliseconds
        settings.sweepMilliseconds = options.sweepMilliseconds ?? settings.sweepMilliseconds
        try run(options: options, name: "planner") { [settings] environment, killTrigger in
            FanOutService(
                settings, in: environment, loops: [.planner],
                onPlannerStep: { killTrigger.didReach(step: $0.rawValue) })
        }
    }

    static func runExpander(arguments: [String]) throws {
        var settings = FanOutSettings()
        settings.sessionMilliseconds = StageProcess.sessionMilliseconds
        // The pages are small, so that there are more steps to die at, and the proof knows the size of one.
        settings.pageRowsMax = ExpanderKillTest.pageRowsMax
        try run(options: StageWorkerOptions(parsing: arguments), name: "expander") {
            [settings] environment, killTrigger in
            FanOutService(
                settings, in: environment, loops: [.expander], onPlannerStep: { _ in },
                onExpanderStep: { killTrigger.didReach(step: $0.rawValue) })
        }
    }

    /// Runs fan-out with the production settings.
    static func runFanOut(arguments: [String]) throws {
        var settings = FanOutSettings()
        let options = try StageWorkerOptions(parsing: arguments)
        settings.jobsPerSheet = options.jobsPerSheet ?? settings.jobsPerSheet
        try run(options: options, name: "fan-out") { [settings] environment, _ in
            FanOutService(settings, in: environment)
        }
    }

    static func runSender(arguments: [String]) throws {
        let options = try StageWorkerOptions(parsing: arguments)
        var settings = SenderSettings()
        settings.sessionMilliseconds = StageProcess.sessionMilliseconds
        settings.keysDirectory = options.keys
        settings.authorities = options.authorities
        settings.production = options.apns
        settings.sandbox = options.apnsSandbox
        settings.limits.permitsMax = options.permits ?? settings.limits.permitsMax
        settings.answerMilliseconds = options.answerMilliseconds ?? settings.answerMilliseconds
        settings.limits.settleMilliseconds =
            options.settleMilliseconds ?? settings.limits.settleMilliseconds
        try run(options: options, name: "sender", apps: SenderTestApps.catalog) { [settings] environment, _ in
            SenderService(settings, in: environment)
        }
    }

    static func runScheduler(arguments: [String]) throws {
        var settings = SchedulerSettings()
        let options = try StageWorkerOptions(parsing: arguments)
        settings.sessionMilliseconds = options.sessionMilliseconds ?? StageProcess.sessionMilliseconds
        try run(options: options, name: "scheduler") { [settings] environment, killTrigger in
            SchedulerService(settings, in: environment, onStep: { killTrigger.didReach(step: $0.rawValue) })
        }
    }

    static func runInsight(arguments: [String]) throws {
        var settings = InsightSettings()
        settings.sessionMilliseconds = StageProcess.sessionMilliseconds
        // The batches are small, so that there are more steps at which the process can die.
        settings.batchRecordsMax = 2000
        try run(options: StageWorkerOptions(parsing: arguments), name: "insight") {
            [settings] environment, killTrigger in
            InsightService(settings, in: environment, onStep: { killTrigger.didReach(step: $0.rawValue) })
        }
    }

    /// Runs the webhooks stage with one endpoint on this machine.
    static func runWebhooks(arguments: [String]) throws {
        let options = try StageWorkerOptions(parsing: arguments)
        var settings = WebhooksSettings()
        settings.sessionMilliseconds = StageProcess.sessionMilliseconds
        settings.allowsHTTP = true
        settings.allowedNetworks = [AddressRange("127.0.0.0/8")].compactMap { $0 }
        // An endpoint that does not answer holds its recipient for a shorter time than in production.
        settings.callMilliseconds = 2000
        let record = try WebhookEndpoint.decode(Array((options.webhook ?? "").utf8), with: JSONReader())
        try run(options: options, name: "webhooks", catalog: WebhookTestEndpoint.catalog(with: record)) {
            [settings] environment, killTrigger in
            WebhooksService(settings, in: environment, onStep: { killTrigger.didReach(step: $0.rawValue) })
        }
    }

    private static func run(
        options: StageWorkerOptions, name: String, apps: [String: App] = TestBed.apps,
        make: (StageEnvironment, StepKillTrigger) -> any Stage
    ) throws {
        try run(options: options, name: name, catalog: CatalogSnapshot(apps: apps), make: make)
    }

    private static func run(
        options: StageWorkerOptions, name: String, catalog: CatalogSnapshot,
        make: (StageEnvironment, StepKillTrigger) -> any Stage
    ) throws {
        // Signals must be blocked before a second thread exists.
        Signals.block()
        Signals.ignoreFileSize()
        let log = Log(component: name, sink: LogSink(level: .info, format: .text))
        let layout = TopicLayout(prefix: options.prefix, lanes: options.lanes)
        let environment = StageEnvironment(
            cluster: Cluster(settings: KafkaSettings(brokers: options.brokers)), layout: layout,
            slot: try ProcessSlot.acquire(under: options.data),
            sealingKeys: try options.sealingKeysFile.map { try SealingKeys(file: $0) },
            catalog: { catalog })
        let service = make(
            environment, StepKillTrigger(options: options))
        let shutdown = Shutdown()
        Signals.watch(requesting: shutdown, reload: {}, exitNow: { _exit(1) })
        let services = ServiceRunner(
            [service], log: log, metrics: Metrics(), drainMilliseconds: 15_000, onOverrun: { _ in _exit(1) })
        Task.detached {
            do {
                try await services.run(until: shutdown) { log.info("serving") }
                exit(0)
            } catch {
                log.error("ended", .field("error", error))
                usleep(100_000)
                exit((error as? any FatalError)?.exitStatus.rawValue ?? 70)
            }
        }
        withExtendedLifetime(environment) { Signals.sleepForever() }
    }
}
