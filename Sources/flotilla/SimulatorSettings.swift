internal import APNsSimulator
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Settings

/// `expired@2200`.
extension TLSFaultListener: SettingValue {
    package static var kind: String {
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
    package static var kind: String { "a version of iOS, such as 17.1" }

    package init?(settingText: String) {
        guard settingText.allSatisfy({ $0.isNumber || $0 == "." }), let version = OSVersion(settingText)
        else { return nil }
        self = version
    }

    package var settingText: String { description }
}

extension Environment: SettingValue {}

/// What `flotilla apns-simulator` can be told, and the simulator of `flotilla up --demo` too.
struct SimulatorCommandSettings: OperatorSettings {
    /// What goes to the simulator as it is.
    private var service = Self.ofOperator
    var data = ""
    private var listen = HostPort(host: "127.0.0.1", port: 2199)
    private var apps: [String] = []
    private var phones = 0
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
    private var ids = 4_000_000

    static let declared = SettingsGroup("apns-simulator", defaults: SimulatorCommandSettings()) { declare in
        declare(
            "data", sets: \.data,
            """
            where the simulator keeps its CA and its key for provider tokens, made if they are not there; \
            else flotilla/apns-simulator in the user's state directory
            """)
        declare("host", sets: \.service.simulator.host, "the address that the simulator listens on")
        declare(
            "port", sets: \.service.simulator.ports.production, in: 0...65535,
            "where it takes production's pushes; port 0 lets the system choose, here and below")
        declare(
            "sandbox-port", sets: \.service.simulator.ports.sandbox, in: 0...65535,
            "where it takes the sandbox's pushes")
        declare(
            "channels-port", sets: \.service.simulator.ports.productionChannels, in: 0...65535,
            "where production's channels are managed")
        declare(
            "sandbox-channels-port", sets: \.service.simulator.ports.sandboxChannels, in: 0...65535,
            "where the sandbox's channels are managed")
        declare(
            "control-listen", sets: \.listen, "where its control API listens; it has no TLS and no users")
        declare(
            "names", sets: \.service.simulator.certificateNames,
            "the names and addresses that its certificate is for",
            check: { $0.isEmpty ? "names nobody" : nil })
        declare("apps", sets: \.apps, "the bundle ids that it knows; none is every one")
        declare(
            "streams", sets: \.service.simulator.streams.most, in: 1...100_000,
            "streams that it allows each connection")
        declare(
            "burst", sets: \.service.simulator.pace.burst,
            "pushes to one token at once before TooManyRequests, one more each second; else any number",
            check: { ($0 ?? 1) > 0 ? nil : "must be 1 or more" })
        declare(
            "phones", sets: \.phones, in: 0...10_000_000,
            "phones that it simulates, called phone-0 and so on; with none, every token is a good one")
        declare("phone-app", sets: \.phoneApp, "the bundle id of the app on those phones")
        declare(
            "phone-types", sets: \.phoneTypes, "the attributes types that the app on those phones knows",
            check: { $0.isEmpty || $0.count > 100 ? "must be 1 to 100 types" : nil })
        declare(
            "phone-types-file", sets: \.service.typesFile,
            "a file with those types, their group attributes and schemas, in the place of phone-types")
        declare(
            "phone-systems", sets: \.phoneSystems,
            "versions of iOS on those phones: phone-0 has the first, phone-1 the second, and so on round",
            check: { $0.isEmpty ? "names none" : nil })
        declare(
            "phone-environments", sets: \.phoneEnvironments,
            "production or sandbox, dealt out to those phones likewise",
            check: { $0.isEmpty ? "names none" : nil })
        declare(
            "portal", sets: \.service.portalFile,
            "a file with further apps, provider keys and phones, as a developer portal would know them")
        declare(
            "update-token-percent", sets: \.updateTokenPercent, in: 0...100,
            "starts of a hundred that yield an update token; the others yield it when the app is opened")
        declare(
            "seed", sets: \.seed, in: 0...Int.max,
            "what is random about the phones is the same for the same seed")
        declare(
            "start-budget", sets: \.startBudget,
            "starts by push that a phone allows in an hour; else any number", check: Self.anHour)
        declare(
            "update-budget", sets: \.updateBudget,
            "updates of priority 10 that a phone shows in an hour; else any number", check: Self.anHour)
        declare(
            "frequent-update-budget", sets: \.frequentUpdateBudget,
            "the same where the person allows frequent updates, as on every other phone", check: Self.anHour)
        declare(
            "report-to", sets: \.reportTo,
            """
            where the phones report to, as their apps would: HOST:PORT (then POST /v1/reports), \
            http://HOST:PORT/PATH, or topic:NAME of Kafka; else they tell nobody
            """)
        declare(
            "report-app", sets: \.reportApp,
            "the id of the phones' app in reports to a topic, else its bundle id; over HTTP the key says it")
        declare("report-key", sets: \.reportKey, "the API key that they report with", secret: true)
        declare("script", sets: \.service.scriptFile, "a file with a script of misbehaviour to begin with")
        declare(
            "journal", sets: \.service.journalFile,
            "a file that gets every request and answer, a JSON object a line; at 1 GiB it is renamed to .1")
        declare(
            "records", sets: \.service.recordsFile,
            "a file that gets 128 bytes for every request, before its answer leaves")
        declare(
            "journal-sync", sets: \.service.syncsJournal,
            "whether each batch of the journal is on the disk before the next is written")
        declare(
            "journal-payloads", sets: \.service.journalShowsPayloads,
            "whether an entry of the journal's file has the payload, without what looks like a secret")
        declare(
            "journal-entries", sets: \.service.journal.entriesMax, in: 1...10_000_000,
            "requests that the journal holds in memory, within 256 MiB")
        declare(
            "ids", sets: \.ids, in: 1...1_000_000_000,
            "apns-ids, and tokens, that are followed to find doubled pushes, at most 42 B of memory each")
        declare("tls-fault", sets: \.service.tlsFaults, "further ports, each with a fault in its TLS")
    }

    /// A budget tells a push from the next by milliseconds.
    private static let anHour: @Sendable (Int?) -> String? = {
        (1...3_600_000).contains($0 ?? 1) ? nil : "must be 1 to 3600000"
    }

    /// The ports that the documents name.
    private static var ofOperator: SimulatorServiceSettings {
        var settings = SimulatorServiceSettings(directory: "")
        let ports = (push: (2197, 2198), channels: (2196, 2195))
        (settings.simulator.ports.production, settings.simulator.ports.sandbox) = ports.push
        (settings.simulator.ports.productionChannels, settings.simulator.ports.sandboxChannels) =
            ports.channels
        return settings
    }

    /// - Parameter kafka: for phones that report to a topic.
    func service(directory: String, kafka: KafkaSettings) -> SimulatorServiceSettings {
        var all = service
        all.directory = directory
        (all.controlHost, all.controlPort) = (listen.host, listen.port)
        for app in apps { all.simulator.apps[app] = SimulatedApp() }
        all.phoneSettings.updateTokenShare = Double(updateTokenPercent) / 100
        all.phoneSettings.seed = UInt64(seed)
        all.phoneSettings.startBudget = budget(startBudget)
        all.phoneSettings.updateBudget = budget(updateBudget)
        all.phoneSettings.frequentUpdateBudget = budget(frequentUpdateBudget)
        all.phones = population
        all.reportSink = reportSink(kafka)
        (all.journal.idsMax, all.journal.targetsMax) = (ids, ids)
        return all
    }

    private func budget(_ pushes: Int?) -> PhoneSettings.Budget? {
        pushes.map { PhoneSettings.Budget(pushes: $0, milliseconds: 3_600_000) }
    }

    private var population: Population? {
        guard phones > 0 else { return nil }
        let app = PhoneApp(
            id: reportApp.isEmpty ? phoneApp : reportApp, bundleID: phoneApp,
            types: phoneTypes.map { ActivityType(name: $0) })
        var population = Population(of: app, phones: phones)
        population.systemsInTurn = phoneSystems
        population.environmentsInTurn = phoneEnvironments
        return population
    }

    private func reportSink(
        _ kafka: KafkaSettings
    ) -> (@Sendable (EventLoop, ServiceContext) -> any ReportSink)? {
        switch reportTo {
        case nil: return nil
        case .server(let place, let path):
            let target = ReportPoster.Target(host: place.host, port: place.port, path: path, key: reportKey)
            return { loop, context in ReportPoster(to: target, on: loop, log: context.log) }
        case .topic(let name):
            return { loop, context in TopicReports(kafka, topic: name, on: loop, context) }
        }
    }
}
