internal import APNsSimulator
internal import CatalogRecords
internal import Identifiers
internal import Kafka
internal import Lifecycle
internal import Settings

/// The form of a TLS listener with a fault in the setting `apns-simulator.tls-fault`: `expired@2200`.
extension TLSFaultListener: SettingValue {
    package static var typeDescription: String {
        "a fault, one of " + TLSFault.allCases.map(\.rawValue).joined(separator: ", ")
            + ", and its port, such as expired@2200"
    }

    package init?(settingText: String) {
        let parts = settingText.split(separator: "@")
        guard parts.count == 2, let fault = TLSFault(rawValue: String(parts[0])), let port = Int(parts[1]),
            (0...65535).contains(port)
        else { return nil }
        self.init(fault, port: port)
    }

    package var settingText: String { "\(fault.rawValue)@\(port)" }
}

extension OSVersion: SettingValue {
    package static var typeDescription: String { "a version of iOS, such as 17.1" }

    package init?(settingText: String) {
        guard settingText.allSatisfy({ $0.isNumber || $0 == "." }), let version = OSVersion(settingText)
        else { return nil }
        self = version
    }

    package var settingText: String { description }
}

extension Environment: SettingValue {}

/// The settings of `flotilla apns-simulator`, and of the simulator in `flotilla up --demo`.
struct SimulatorCommandSettings: OperatorSettings {
    /// The settings that go to the simulator unchanged.
    private var service = Self.operatorDefaults
    // The others are turned into settings of the simulator by `serviceSettings`.
    /// The data directory, or an empty text for the default.
    var data = ""
    private var controlListen = HostPort(host: "127.0.0.1", port: 2199)
    private var bundleIDs: [String] = []
    private var phoneCount = 0
    private var phoneApp = "com.example.app"
    private var phoneTypes = ["MatchAttributes"]
    private var phoneSystems = [Population.newestSystem]
    private var phoneEnvironments = [Environment.production]
    private var updateTokenPercent = 100
    private var seed = 1
    private var startBudget: Int?
    private var updateBudget: Int?
    private var frequentUpdateBudget: Int?
    private var reportTo: ReportAddress?
    private var reportApp = ""
    private var reportKey = ""
    private var rememberedIDsMax = 4_000_000

    static let declared = SettingsGroup(prefix: "apns-simulator", defaults: SimulatorCommandSettings()) {
        declare in
        declare(
            "data", sets: \.data,
            """
            directory of the simulator's CA and its key for provider tokens, created if they are missing; \
            the default is flotilla/apns-simulator in the user's state directory
            """)
        declare("host", sets: \.service.simulator.host, "address on which the simulator listens")
        declare(
            "port", sets: \.service.simulator.ports.production, in: 0...65535,
            "port for pushes of production; port 0 lets the system choose, here and below")
        declare(
            "sandbox-port", sets: \.service.simulator.ports.sandbox, in: 0...65535,
            "port for pushes of the sandbox")
        declare(
            "channels-port", sets: \.service.simulator.ports.productionChannels, in: 0...65535,
            "port that manages the channels of production")
        declare(
            "sandbox-channels-port", sets: \.service.simulator.ports.sandboxChannels, in: 0...65535,
            "port that manages the channels of the sandbox")
        declare(
            "control-listen", sets: \.controlListen,
            "address of its control API, which has no TLS and no users")
        declare(
            "names", sets: \.service.simulator.certificateNames,
            "names and addresses in its certificate",
            check: { $0.isEmpty ? "must have at least one name" : nil })
        declare("apps", sets: \.bundleIDs, "bundle ids that it knows; if empty, it knows all")
        declare(
            "streams", sets: \.service.simulator.streams.streamsMax, in: 1...100_000,
            "concurrent streams that it allows for each connection")
        declare(
            "burst", sets: \.service.simulator.rateLimit.burst,
            "pushes to one token at once before TooManyRequests, one more each second; no limit if not set",
            check: { ($0 ?? 1) > 0 ? nil : "must be 1 or more" })
        declare(
            "phones", sets: \.phoneCount, in: 0...10_000_000,
            "number of simulated phones, named phone-0 and so on; with 0, every token is valid")
        declare("phone-app", sets: \.phoneApp, "bundle id of the app on these phones")
        declare(
            "phone-types", sets: \.phoneTypes, "attributes types that the app on these phones knows",
            check: { $0.isEmpty || $0.count > 100 ? "must be 1 to 100 types" : nil })
        declare(
            "phone-types-file", sets: \.service.typesFile,
            "file with these types, their group attributes and schemas, instead of phone-types")
        declare(
            "phone-systems", sets: \.phoneSystems,
            "versions of iOS on these phones, in turn: phone-0 has the first, phone-1 the second",
            check: { $0.isEmpty ? "must have at least one version" : nil })
        declare(
            "phone-environments", sets: \.phoneEnvironments,
            "production or sandbox, assigned to these phones in turn",
            check: { $0.isEmpty ? "must have at least one environment" : nil })
        declare(
            "portal", sets: \.service.portalFile,
            "file with additional apps, provider keys and phones, as a developer portal would have them")
        declare(
            "update-token-percent", sets: \.updateTokenPercent, in: 0...100,
            "percentage of starts that yield an update token; the others yield it when the app is opened")
        declare(
            "seed", sets: \.seed, in: 0...Int.max,
            "seed of the phones' random numbers; the same seed gives the same phones")
        declare(
            "start-budget", sets: \.startBudget,
            "starts by push that a phone allows in an hour; no limit if not set",
            check: Self.hourlyBudgetProblem)
        declare(
            "update-budget", sets: \.updateBudget,
            "updates of priority 10 that a phone shows in an hour; no limit if not set",
            check: Self.hourlyBudgetProblem)
        declare(
            "frequent-update-budget", sets: \.frequentUpdateBudget,
            "the same for phones with frequent updates allowed, which is every other phone",
            check: Self.hourlyBudgetProblem)
        declare(
            "report-to", sets: \.reportTo,
            """
            address that the phones report to, as their apps would: HOST:PORT (then POST /v1/reports), \
            http://HOST:PORT/PATH, or topic:NAME of Kafka; without it they do not report
            """)
        declare(
            "report-app", sets: \.reportApp,
            "id of the phones' app in reports to a topic; the default is its bundle id; over HTTP the API key decides"
        )
        declare("report-key", sets: \.reportKey, "API key with which the phones report", secret: true)
        declare(
            "script", sets: \.service.scriptFile, "file with a script of faults that apply from the start")
        declare(
            "journal", sets: \.service.journalFile,
            "file for every request and answer, one JSON object per line; at 1 GiB it is renamed to .1")
        declare(
            "records", sets: \.service.recordsFile,
            "file for 128 bytes per request, written before the answer leaves")
        declare(
            "journal-sync", sets: \.service.syncsJournal,
            "whether each batch of the journal is on disk before the next is written")
        declare(
            "journal-payloads", sets: \.service.journalShowsPayloads,
            "whether an entry of the journal's file has the payload, without values that look like secrets")
        declare(
            "journal-entries", sets: \.service.journalLimits.entriesMax, in: 1...10_000_000,
            "requests that the journal holds in memory, at most 256 MiB")
        declare(
            "ids", sets: \.rememberedIDsMax, in: 1...1_000_000_000,
            "apns-ids, and tokens, that are remembered to find duplicate pushes, at most 64 B of memory each")
        declare("tls-fault", sets: \.service.tlsFaults, "additional ports, each with a fault in its TLS")
    }

    private static let hourMilliseconds = 3_600_000

    /// The check of a budget. A phone distinguishes pushes by milliseconds, so an hour has at most 3,600,000.
    private static let hourlyBudgetProblem: @Sendable (Int?) -> String? = {
        (1...hourMilliseconds).contains($0 ?? 1) ? nil : "must be 1 to \(hourMilliseconds)"
    }

    /// The defaults of the command. The ports are those that Apple documents.
    private static var operatorDefaults: SimulatorServiceSettings {
        var settings = SimulatorServiceSettings(credentialsDirectory: "")
        settings.simulator.ports.production = 2197
        settings.simulator.ports.sandbox = 2198
        settings.simulator.ports.productionChannels = 2196
        settings.simulator.ports.sandboxChannels = 2195
        return settings
    }

    /// Returns the settings of the simulator.
    ///
    /// - Parameters:
    ///   - directory: the directory of the simulator's CA and its key for provider tokens.
    ///   - kafka: the cluster for phones that report to a topic.
    func serviceSettings(directory: String, kafka: KafkaSettings) -> SimulatorServiceSettings {
        var settings = service
        settings.credentialsDirectory = directory
        settings.controlHost = controlListen.host
        settings.controlPort = controlListen.port
        for app in bundleIDs { settings.simulator.apps[app] = SimulatedApp() }
        settings.phoneSettings.updateTokenShare = Double(updateTokenPercent) / 100
        settings.phoneSettings.seed = UInt64(seed)
        settings.phoneSettings.startBudget = hourlyBudget(of: startBudget)
        settings.phoneSettings.updateBudget = hourlyBudget(of: updateBudget)
        settings.phoneSettings.frequentUpdateBudget = hourlyBudget(of: frequentUpdateBudget)
        settings.phones = population
        settings.reportSink = makeReportSink(kafka: kafka)
        settings.journalLimits.trackedIDsMax = rememberedIDsMax
        settings.journalLimits.trackedTargetsMax = rememberedIDsMax
        return settings
    }

    private func hourlyBudget(of pushes: Int?) -> PhoneSettings.PushBudget? {
        pushes.map { PhoneSettings.PushBudget(pushes: $0, milliseconds: Int64(Self.hourMilliseconds)) }
    }

    /// The simulated phones, or nil if `apns-simulator.phones` is 0.
    private var population: Population? {
        guard phoneCount > 0 else { return nil }
        let app = PhoneApp(
            id: reportApp.isEmpty ? phoneApp : reportApp, bundleID: phoneApp,
            types: phoneTypes.map { ActivityType(name: $0) })
        var population = Population(of: app, phones: phoneCount)
        population.systemsInTurn = phoneSystems
        population.environmentsInTurn = phoneEnvironments
        return population
    }

    /// Returns a function that makes the sink of the phones' reports, or nil if they do not report.
    private func makeReportSink(
        kafka: KafkaSettings
    ) -> (@Sendable (EventLoop, ServiceContext) -> any ReportSink)? {
        switch reportTo {
        case nil: return nil
        case .server(let address, let path):
            let target = ReportPoster.Target(
                host: address.host, port: address.port, path: path, key: reportKey)
            return { loop, context in ReportPoster(to: target, on: loop, log: context.log) }
        case .topic(let name):
            return { loop, context in
                TopicReportSink(settings: kafka, topic: name, on: loop, context: context)
            }
        }
    }
}
