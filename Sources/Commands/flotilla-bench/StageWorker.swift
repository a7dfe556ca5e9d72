internal import Catalog
internal import CatalogRecords
internal import FanOut
internal import FanOutTesting
internal import Glibc
internal import Ingest
internal import IngestTesting
internal import Insight
internal import Kafka
internal import Lifecycle
internal import Scheduler
internal import Sender
internal import SenderTesting
internal import Settings
internal import StageSupport
internal import Telemetry
internal import Topics

/// A stage in a separate process, for proofs and benchmarks. It runs as in `flotilla run` but without a
/// catalog, and it can end at a given step.
enum StageWorker {
    static func runIngest(arguments: [String]) throws {
        var settings = IngestSettings()
        settings.sessionMilliseconds = StageProcess.sessionMilliseconds
        // The batches are small, so that there are more steps at which the process can die.
        settings.batchRecordsMax = 2000
        let options = try StageWorkerOptions(parsing: arguments)
        settings.sweepMilliseconds = options.sweepMilliseconds ?? settings.sweepMilliseconds
        try run(options: options, name: "ingest") { [settings] environment, death in
            IngestService(
                settings, in: environment,
                // A proof of the sweep does not wait until the clocks are watched for a minute.
                settleMilliseconds: options.sweepMilliseconds == nil ? ClusterClock.settleMilliseconds : 0,
                onStep: { death.didReach(step: $0.rawValue) })
        }
    }

    static func runPlanner(arguments: [String]) throws {
        var settings = FanOutSettings()
        let options = try StageWorkerOptions(parsing: arguments)
        settings.sessionMilliseconds = options.sessionMilliseconds ?? StageProcess.sessionMilliseconds
        settings.sweepMilliseconds = options.sweepMilliseconds ?? settings.sweepMilliseconds
        try run(options: options, name: "planner") { [settings] environment, death in
            FanOutService(
                settings, in: environment, loops: [.planner],
                onPlannerStep: { death.didReach(step: $0.rawValue) })
        }
    }

    static func runExpander(arguments: [String]) throws {
        var settings = FanOutSettings()
        settings.sessionMilliseconds = StageProcess.sessionMilliseconds
        // The pages have the smallest size, so that there are more steps to die at, and the proof knows the
        // size of one.
        settings.pageRowsAtStart = AdaptivePageSize.rowsMin
        settings.pageMilliseconds = 1
        try run(options: StageWorkerOptions(parsing: arguments), name: "expander") {
            [settings] environment, death in
            FanOutService(
                settings, in: environment, loops: [.expander], onPlannerStep: { _ in },
                onExpanderStep: { death.didReach(step: $0.rawValue) })
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
        try run(options: options, name: "scheduler") { [settings] environment, death in
            SchedulerService(settings, in: environment, onStep: { death.didReach(step: $0.rawValue) })
        }
    }

    static func runInsight(arguments: [String]) throws {
        var settings = InsightSettings()
        settings.sessionMilliseconds = StageProcess.sessionMilliseconds
        // The batches are small, so that there are more steps at which the process can die.
        settings.batchRecordsMax = 2000
        try run(options: StageWorkerOptions(parsing: arguments), name: "insight") {
            [settings] environment, death in
            InsightService(settings, in: environment, onStep: { death.didReach(step: $0.rawValue) })
        }
    }

    private static func run(
        options: StageWorkerOptions, name: String, apps: [String: App] = TestBed.apps,
        make: (StageEnvironment, StepKillTrigger) -> any Stage
    ) throws {
        // Signals must be blocked before a second thread exists.
        Signals.block()
        Signals.ignoreFileSize()
        let log = Log(component: name, sink: LogSink(level: .info, format: .text))
        let layout = TopicLayout(prefix: options.prefix, lanes: options.lanes)
        let environment = StageEnvironment(
            cluster: Cluster(settings: KafkaSettings(brokers: options.brokers)), layout: layout,
            slot: try ProcessSlot.acquire(under: options.data), sealingKeys: nil,
            catalog: { CatalogSnapshot(apps: apps) })
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

private struct StageWorkerOptions {
    var brokers: [String] = []
    var prefix = "flotilla."
    var lanes = 12
    var data = ""
    var sweepMilliseconds: Int?
    var jobsPerSheet: Int?
    /// Options of the sender: provider keys, address and CA of APNs, and the number of permits.
    var keys = ""
    var apns: HostPort?
    var apnsSandbox: HostPort?
    var authorities = ""
    var permits: Int?
    var answerMilliseconds: Int?
    var settleMilliseconds: Int?
    var killAtStep: Int?
    var occurrence = 1
    var afterStep: Int?
    var stopsInsteadOfKilling = false
    var sessionMilliseconds: Int?

    init(parsing arguments: [String]) throws {
        var rest = arguments[...]
        while let name = rest.popFirst(), let value = rest.popFirst() {
            switch name {
            case "--brokers": brokers = value.split(separator: ",").map(String.init)
            case "--prefix": prefix = value
            case "--lanes": lanes = Int(value) ?? lanes
            case "--data": data = value
            case "--sweep-milliseconds": sweepMilliseconds = Int(value)
            case "--per-sheet": jobsPerSheet = Int(value)
            case "--keys": keys = value
            case "--apns": apns = HostPort(settingText: value)
            case "--apns-sandbox": apnsSandbox = HostPort(settingText: value)
            case "--authorities": authorities = value
            case "--permits": permits = Int(value)
            case "--answer-milliseconds": answerMilliseconds = Int(value)
            case "--settle-milliseconds": settleMilliseconds = Int(value)
            case "--die-at-step": killAtStep = Int(value)
            case "--at-time": occurrence = Int(value) ?? 1
            case "--after-step": afterStep = Int(value)
            case "--stop-there": stopsInsteadOfKilling = value == "1"
            case "--session-milliseconds": sessionMilliseconds = Int(value)
            default: throw BenchmarkFailure("\(name) is not known")
            }
        }
        guard !brokers.isEmpty, !data.isEmpty else { throw BenchmarkFailure("name --brokers and --data") }
    }
}

/// A trigger that ends the process as a power cut would, at one step, or stops it there.
private final class StepKillTrigger: Sendable {
    private struct Countdown {
        var timesLeft: Int
        /// The number of the awaited step, or nil after it was reached.
        var awaited: Int?
    }

    private let step: Int?
    private let signal: Int32
    private let countdown: TracedLock<Countdown>

    init(options: StageWorkerOptions) {
        step = options.killAtStep
        signal = options.stopsInsteadOfKilling ? SIGSTOP : SIGKILL
        countdown = TracedLock(Countdown(timesLeft: options.occurrence, awaited: options.afterStep))
    }

    func didReach(step: Int) {
        let isTime = countdown.withLock { countdown in
            if step == countdown.awaited { countdown.awaited = nil }
            guard step == self.step, countdown.awaited == nil else { return false }
            countdown.timesLeft -= 1
            return countdown.timesLeft == 0
        }
        if isTime { kill(getpid(), signal) }
    }
}
