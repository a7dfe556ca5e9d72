internal import APNsSimulator
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Settings

/// `expired@2200`.
extension TLSFaultPlace: SettingValue {
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

extension AllSettings {
    static let simulatorData = Setting(
        "apns-simulator.data", default: "",
        """
        where the simulator keeps its CA and its key for provider tokens, made if they are not there; \
        else flotilla/apns-simulator in the user's state directory
        """)
    static let simulatorHost = Setting(
        "apns-simulator.host", default: "127.0.0.1", "the address that the simulator listens on")
    static let simulatorPort = Setting(
        "apns-simulator.port", default: 2197, in: 0...65535,
        "where it takes production's pushes; port 0 lets the system choose, here and below")
    static let simulatorSandboxPort = Setting(
        "apns-simulator.sandbox-port", default: 2198, in: 0...65535, "where it takes the sandbox's pushes")
    static let simulatorChannelsPort = Setting(
        "apns-simulator.channels-port", default: 2196, in: 0...65535,
        "where production's channels are managed")
    static let simulatorSandboxChannelsPort = Setting(
        "apns-simulator.sandbox-channels-port", default: 2195, in: 0...65535,
        "where the sandbox's channels are managed")
    static let simulatorControl = Setting(
        "apns-simulator.control-listen", default: HostPort(host: "127.0.0.1", port: 2199),
        "where its control API listens; it has no TLS and no users")
    static let simulatorNames = Setting(
        "apns-simulator.names", default: ["localhost", "127.0.0.1", "::1"],
        "the names and addresses that its certificate is for",
        check: { $0.isEmpty ? "names nobody" : nil })
    static let simulatorApps = Setting(
        "apns-simulator.apps", default: [String](), "the bundle ids that it knows; none is every one")
    static let simulatorStreams = Setting(
        "apns-simulator.streams", default: 1_000, in: 1...100_000, "streams that it allows each connection")
    static let simulatorBurst = Setting(
        "apns-simulator.burst", default: Int?.none,
        "pushes to one token at once before TooManyRequests, one more each second; else any number",
        check: { ($0 ?? 1) > 0 ? nil : "must be 1 or more" })
    static let simulatorPhones = Setting(
        "apns-simulator.phones", default: 0, in: 0...10_000_000,
        "phones that it simulates, called phone-0 and so on; with none, every token is a good one")
    static let simulatorPhoneApp = Setting(
        "apns-simulator.phone-app", default: "com.example.app", "the bundle id of the app on those phones")
    static let simulatorPhoneTypes = Setting(
        "apns-simulator.phone-types", default: ["MatchAttributes"],
        "the attributes types that the app on those phones knows",
        check: { $0.isEmpty || $0.count > 100 ? "must be 1 to 100 types" : nil })
    static let simulatorTypesFile = Setting(
        "apns-simulator.phone-types-file", default: String?.none,
        "a file with those types, their group attributes and schemas, in the place of phone-types")
    static let simulatorPhoneSystems = Setting(
        "apns-simulator.phone-systems", default: [Population.newestSystem],
        "versions of iOS on those phones: phone-0 has the first, phone-1 the second, and so on round",
        check: { $0.isEmpty ? "names none" : nil })
    static let simulatorPhoneEnvironments = Setting(
        "apns-simulator.phone-environments", default: [Environment.production],
        "production or sandbox, dealt out to those phones likewise",
        check: { $0.isEmpty ? "names none" : nil })
    static let simulatorPortal = Setting(
        "apns-simulator.portal", default: String?.none,
        "a file with further apps, provider keys and phones, as a developer portal would know them")
    static let simulatorUpdateTokens = Setting(
        "apns-simulator.update-token-percent", default: 100, in: 0...100,
        "starts of a hundred that yield an update token; the others yield it when the app is opened")
    static let simulatorSeed = Setting(
        "apns-simulator.seed", default: 1, in: 0...Int.max,
        "what is random about the phones is the same for the same seed")
    static let simulatorStartBudget = Setting(
        "apns-simulator.start-budget", default: Int?.none,
        "starts by push that a phone allows in an hour; else any number", check: Self.anHour)
    static let simulatorUpdateBudget = Setting(
        "apns-simulator.update-budget", default: Int?.none,
        "updates of priority 10 that a phone shows in an hour; else any number", check: Self.anHour)
    static let simulatorFrequentBudget = Setting(
        "apns-simulator.frequent-update-budget", default: Int?.none,
        "the same where the person allows frequent updates, as on every other phone", check: Self.anHour)
    static let simulatorReports = Setting(
        "apns-simulator.report-to", default: ReportAddress?.none,
        """
        where the phones report to, as their apps would: HOST:PORT (then POST /v1/reports), \
        http://HOST:PORT/PATH, or topic:NAME of Kafka; else they tell nobody
        """)
    static let simulatorReportApp = Setting(
        "apns-simulator.report-app", default: "",
        "the id of the phones' app in reports to a topic, else its bundle id; over HTTP the key says it")
    static let simulatorReportKey = Setting(
        "apns-simulator.report-key", default: "", "the API key that they report with", secret: true)
    static let simulatorScript = Setting(
        "apns-simulator.script", default: String?.none, "a file with a script of misbehaviour to begin with")
    static let simulatorJournal = Setting(
        "apns-simulator.journal", default: String?.none,
        "a file that gets every request and answer, a JSON object a line; at 1 GiB it is renamed to .1")
    static let simulatorRecords = Setting(
        "apns-simulator.records", default: String?.none,
        "a file that gets 128 bytes for every request, before its answer leaves")
    static let simulatorJournalSync = Setting(
        "apns-simulator.journal-sync", default: false,
        "whether each batch of the journal is on the disk before the next is written")
    static let simulatorJournalPayloads = Setting(
        "apns-simulator.journal-payloads", default: false,
        "whether an entry of the journal's file has the payload, without what looks like a secret")
    static let simulatorJournalEntries = Setting(
        "apns-simulator.journal-entries", default: 100_000, in: 1...10_000_000,
        "requests that the journal holds in memory, within 256 MiB")
    static let simulatorIDs = Setting(
        "apns-simulator.ids", default: 4_000_000, in: 1...1_000_000_000,
        "apns-ids, and tokens, that are followed to find doubled pushes, at most 42 B of memory each")
    static let simulatorTLSFaults = Setting(
        "apns-simulator.tls-fault", default: [TLSFaultPlace](), "further ports, each with a fault in its TLS")

    /// A budget tells a push from the next by milliseconds.
    private static let anHour: @Sendable (Int?) -> String? = {
        (1...3_600_000).contains($0 ?? 1) ? nil : "must be 1 to 3600000"
    }

    static let simulator: [Declaration] = [
        simulatorData.declaration, simulatorHost.declaration, simulatorPort.declaration,
        simulatorSandboxPort.declaration, simulatorChannelsPort.declaration,
        simulatorSandboxChannelsPort.declaration, simulatorControl.declaration, simulatorNames.declaration,
        simulatorApps.declaration, simulatorStreams.declaration, simulatorBurst.declaration,
        simulatorPhones.declaration, simulatorPhoneApp.declaration, simulatorPhoneTypes.declaration,
        simulatorTypesFile.declaration, simulatorPhoneSystems.declaration,
        simulatorPhoneEnvironments.declaration, simulatorPortal.declaration,
        simulatorUpdateTokens.declaration,
        simulatorSeed.declaration, simulatorStartBudget.declaration, simulatorUpdateBudget.declaration,
        simulatorFrequentBudget.declaration, simulatorReports.declaration, simulatorReportApp.declaration,
        simulatorReportKey.declaration,
        simulatorScript.declaration, simulatorJournal.declaration,
        simulatorRecords.declaration, simulatorJournalSync.declaration, simulatorJournalPayloads.declaration,
        simulatorJournalEntries.declaration, simulatorIDs.declaration, simulatorTLSFaults.declaration,
    ]
}

extension SimulatorServiceSettings {
    init(_ settings: ResolvedSettings, directory: String) {
        self.init(directory: directory)
        simulator.host = settings[AllSettings.simulatorHost]
        simulator.ports.production = settings[AllSettings.simulatorPort]
        simulator.ports.sandbox = settings[AllSettings.simulatorSandboxPort]
        simulator.ports.productionChannels = settings[AllSettings.simulatorChannelsPort]
        simulator.ports.sandboxChannels = settings[AllSettings.simulatorSandboxChannelsPort]
        simulator.certificateNames = settings[AllSettings.simulatorNames]
        for app in settings[AllSettings.simulatorApps] { simulator.apps[app] = SimulatedApp() }
        simulator.streams.most = settings[AllSettings.simulatorStreams]
        simulator.pace.burst = settings[AllSettings.simulatorBurst]
        phoneSettings.updateTokenShare = Double(settings[AllSettings.simulatorUpdateTokens]) / 100
        portalFile = settings[AllSettings.simulatorPortal]
        typesFile = settings[AllSettings.simulatorTypesFile]
        phoneSettings.seed = UInt64(settings[AllSettings.simulatorSeed])
        func budget(_ pushes: Int?) -> PhoneSettings.Budget? {
            pushes.map { PhoneSettings.Budget(pushes: $0, milliseconds: 3_600_000) }
        }
        phoneSettings.startBudget = budget(settings[AllSettings.simulatorStartBudget])
        phoneSettings.updateBudget = budget(settings[AllSettings.simulatorUpdateBudget])
        phoneSettings.frequentUpdateBudget = budget(settings[AllSettings.simulatorFrequentBudget])
        let count = settings[AllSettings.simulatorPhones]
        if count > 0 {
            let bundleID = settings[AllSettings.simulatorPhoneApp]
            let types = settings[AllSettings.simulatorPhoneTypes].map { ActivityType(name: $0) }
            let id = settings[AllSettings.simulatorReportApp]
            let app = PhoneApp(id: id.isEmpty ? bundleID : id, bundleID: bundleID, types: types)
            phones = Population(of: app, phones: count)
            phones?.systemsInTurn = settings[AllSettings.simulatorPhoneSystems]
            phones?.environmentsInTurn = settings[AllSettings.simulatorPhoneEnvironments]
        }
        reportSink = Self.reportSink(settings)
        controlHost = settings[AllSettings.simulatorControl].host
        controlPort = settings[AllSettings.simulatorControl].port
        scriptFile = settings[AllSettings.simulatorScript]
        journalFile = settings[AllSettings.simulatorJournal]
        recordsFile = settings[AllSettings.simulatorRecords]
        journalShowsPayloads = settings[AllSettings.simulatorJournalPayloads]
        syncsJournal = settings[AllSettings.simulatorJournalSync]
        journal.entriesMax = settings[AllSettings.simulatorJournalEntries]
        journal.idsMax = settings[AllSettings.simulatorIDs]
        journal.targetsMax = settings[AllSettings.simulatorIDs]
        tlsFaults = settings[AllSettings.simulatorTLSFaults]
    }

    private static func reportSink(
        _ settings: ResolvedSettings
    ) -> (@Sendable (EventLoop, ServiceContext) -> any ReportSink)? {
        switch settings[AllSettings.simulatorReports] {
        case nil: return nil
        case .server(let place, let path):
            let target = ReportPoster.Target(
                host: place.host, port: place.port, path: path, key: settings[AllSettings.simulatorReportKey])
            return { loop, context in ReportPoster(to: target, on: loop, log: context.log) }
        case .topic(let name):
            let kafka = KafkaSettings(settings)
            return { loop, context in TopicReports(kafka, topic: name, on: loop, context) }
        }
    }
}
