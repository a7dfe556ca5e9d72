// swift-tools-version: 6.2
import PackageDescription

// One target per concept, listed from bottom to top. The folders of `Sources` are the layers. A module imports
// only what its line names: the build is run with `--explicit-target-dependency-import-check error`. The end
// of this file refuses a dependency on a higher layer, and a stage that depends on another stage.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// A Debian library: a module map and a `shim.h` with inline functions for what Swift cannot call.
func library(_ name: String, apt: String...) -> Target {
    .systemLibrary(name: name, path: "Sources/CLibraries/\(name)", providers: [.apt(apt)])
}

/// Lines of C or C++ of our own.
func cSources(
    _ folder: String, exclude: [String] = [], linked: String...
) -> Target {
    .target(
        name: name(of: folder), path: path(of: folder), exclude: exclude,
        linkerSettings: linked.map { .linkedLibrary($0) })
}

/// Code of the product with its page, or test support: every use of an unsafe construct is spelled out.
func module(_ folder: String, _ dependencies: String..., features: String...) -> Target {
    .target(
        name: name(of: folder), dependencies: dependencies.map { .byName(name: $0) },
        path: path(of: folder), exclude: folder.hasPrefix("Tests/") ? [] : ["README.md"],
        swiftSettings: strict + [.strictMemorySafety()] + features.map { .enableExperimentalFeature($0) })
}

func command(_ name: String, _ dependencies: String...) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies.map { .byName(name: $0) },
        path: "Sources/Commands/\(name)", exclude: ["README.md"],
        swiftSettings: strict + [.strictMemorySafety()])
}

func name(of folder: String) -> String { String(folder.split(separator: "/").last ?? "") }

func path(of folder: String) -> String {
    folder.hasPrefix("Tests/") ? folder : "Sources/\(folder)"
}

func tests(_ name: String, _ dependencies: String...) -> Target {
    .testTarget(
        name: name, dependencies: dependencies.map { .byName(name: $0) },
        swiftSettings: strict)
}

let package = Package(
    name: "flotilla",
    products: [
        // What a test preloads into processes whose clock shall be wrong.
        .library(name: "WrongClock", type: .dynamic, targets: ["CWrongClock"])
    ],
    targets: [
        // The C libraries.
        library("CLinux", apt: "libc6-dev"),
        library("COpenSSL", apt: "libssl-dev"),
        library("CNghttp2", apt: "libnghttp2-dev"),
        library("CMicroHTTPD", apt: "libmicrohttpd-dev"),
        library("CLMDB", apt: "liblmdb-dev"),
        library("CSQLite", apt: "libsqlite3-dev"),
        library("CZstd", apt: "libzstd-dev"),
        library("CLZ4", apt: "liblz4-dev"),
        library("CZlib", apt: "zlib1g-dev"),
        cSources("CLibraries/CCRC32C"),
        cSources("CLibraries/CSimdJSON", linked: "simdjson"),
        library("CRdKafka", apt: "librdkafka-dev"),
        cSources("CLibraries/CKafkaPeer", linked: "rdkafka"),

        // Foundations.
        module("Platform/Containers"),
        module("Platform/Telemetry", "CLinux"),
        module("Platform/Lifecycle", "CLinux", "Telemetry"),
        module("Platform/Settings"),

        // One wrapper per C library, its only caller.
        module("Platform/Cryptography", "COpenSSL", "CLinux"),
        module("Platform/TLS", "COpenSSL", "CLinux", "Cryptography", "Telemetry", "Lifecycle"),
        module("Platform/HTTP2", "CNghttp2", "Lifecycle"),
        module(
            "Platform/Kafka", "CRdKafka", "CLinux", "Cryptography", "Telemetry", "Lifecycle",
            features: "Lifetimes"),
        module(
            "Platform/Store", "CLMDB", "CCRC32C", "CLinux", "Lifecycle", "Telemetry", features: "Lifetimes"),
        module("Platform/SQLite", "CSQLite"),
        module("Platform/JSON", "CSimdJSON"),
        module("Platform/Compression", "CZlib"),
        module("Platform/HTTPClient", "Lifecycle", "TLS"),
        module("Platform/HTTPServer", "CMicroHTTPD", "CLinux", "TLS", "JSON", "Lifecycle", "Telemetry"),

        // The domain.
        module("Domain/Identifiers", "JSON", "Cryptography"),
        module("Domain/RecordFormat", "JSON"),
        module("Domain/ContentSchemas", "Identifiers", "JSON", "Telemetry"),
        module("Domain/Payloads", "Identifiers", "ContentSchemas", "JSON"),
        module("Domain/TokenSealing", "Identifiers", "RecordFormat", "JSON", "Cryptography"),
        module(
            "Domain/CatalogRecords", "Identifiers", "RecordFormat", "ContentSchemas", "Payloads", "JSON",
            "Settings"),
        module(
            "Domain/InstallationRecords", "Identifiers", "RecordFormat", "TokenSealing", "CatalogRecords",
            "JSON"),
        module("Domain/Sends", "Identifiers", "RecordFormat", "Payloads", "JSON"),
        module("Domain/Schedules", "Identifiers", "RecordFormat", "Payloads", "Sends", "JSON"),
        module(
            "Domain/Jobs", "Identifiers", "RecordFormat", "Payloads", "Sends", "JSON",
            features: "Lifetimes"),

        // Speaking to Apple.
        module(
            "Domain/APNs", "Identifiers", "Payloads", "HTTP2", "JSON", "Cryptography", "TLS", "Lifecycle",
            "Telemetry", "Containers", "CLinux"),

        // What every stage shares: the topics as they must be, and the catalogue of apps and keys.
        module("Domain/Topics", "Kafka", "Lifecycle", "Telemetry"),
        module(
            "Domain/Catalog", "Identifiers", "RecordFormat", "TokenSealing", "CatalogRecords", "Topics",
            "Kafka", "JSON", "Cryptography", "Lifecycle", "Telemetry"),
        module(
            "Stages/StageSupport", "Members", "Catalog", "RecordFormat", "TokenSealing", "Topics", "Kafka",
            "Store",
            "JSON", "Settings", "Lifecycle", "Telemetry"),

        // What people do about what failed.
        module(
            "Domain/Replay", "APNs", "Identifiers", "RecordFormat", "Payloads", "CatalogRecords",
            "InstallationRecords", "Sends", "Jobs", "Topics", "Kafka", "JSON", "Cryptography", "Lifecycle",
            "Telemetry", features: "Lifetimes"),

        // What people look at: files in the binary.
        cSources("Stages/ConsoleFiles", exclude: ["web", "README.md"]),
        module("Stages/Console", "ConsoleFiles", "Compression", "HTTPServer", "Cryptography"),

        // Which process answers for which lanes, and asking it.
        module(
            "Stages/Members", "Identifiers", "RecordFormat", "Kafka", "HTTPClient", "TLS", "Cryptography",
            "JSON", "Lifecycle", "Telemetry"),

        // The stages; they meet in the records of the topics and never import one another.
        module(
            "Stages/Gateway", "StageSupport", "Members", "Containers", "Console", "Compression", "Replay",
            "Identifiers",
            "RecordFormat", "Payloads", "TokenSealing", "CatalogRecords", "InstallationRecords", "Sends",
            "Schedules", "Catalog", "Topics", "Kafka", "HTTPServer", "HTTPClient", "TLS", "JSON",
            "Cryptography", "Settings", "Lifecycle", "Telemetry"),
        module(
            "Stages/Ingest", "StageSupport", "Identifiers", "RecordFormat", "TokenSealing",
            "CatalogRecords", "InstallationRecords", "Catalog", "Topics", "Kafka", "Store", "JSON",
            "Settings", "Lifecycle", "Telemetry"),
        module(
            "Domain/Registry", "Identifiers", "RecordFormat", "TokenSealing", "CatalogRecords",
            "InstallationRecords", "Kafka", "Store", "Lifecycle", "JSON", "Cryptography", "Telemetry",
            features: "Lifetimes"),
        module(
            "Stages/FanOut", "StageSupport", "Registry", "Identifiers", "RecordFormat", "Payloads",
            "CatalogRecords", "Sends", "Schedules", "Jobs", "Catalog", "Topics", "Kafka", "Store", "JSON",
            "Cryptography", "Settings", "Lifecycle", "Telemetry", features: "Lifetimes"),
        module(
            "Stages/Sender", "StageSupport", "APNs", "Identifiers", "RecordFormat", "Payloads",
            "TokenSealing", "CatalogRecords", "InstallationRecords", "Sends", "Jobs", "TLS", "Catalog",
            "Topics", "Kafka", "JSON", "Cryptography", "Containers", "Settings", "Lifecycle", "Telemetry",
            features: "Lifetimes"),
        module(
            "Stages/Scheduler", "StageSupport", "Identifiers", "RecordFormat", "Payloads", "Sends",
            "Schedules", "Topics", "Kafka", "Store", "JSON", "Cryptography", "Containers", "Settings",
            "Lifecycle", "Telemetry", features: "Lifetimes"),
        module(
            "Stages/Insight", "StageSupport", "Members", "Identifiers", "RecordFormat", "Payloads",
            "CatalogRecords", "Catalog", "InstallationRecords", "Sends", "Schedules", "Jobs", "Topics",
            "Kafka", "Store", "SQLite", "JSON", "HTTPServer", "HTTPClient", "TLS", "Cryptography",
            "Settings", "Lifecycle", "Telemetry", features: "Lifetimes"),

        module(
            "Stages/Webhooks", "StageSupport", "Members", "Identifiers", "RecordFormat", "TokenSealing",
            "CatalogRecords", "InstallationRecords", "Sends", "Catalog", "Topics", "Kafka", "TLS",
            "HTTPClient", "JSON", "Cryptography", "Settings", "Lifecycle", "Telemetry",
            features: "Lifetimes"),

        // The outside world on one machine.
        module(
            "OneMachine/Broker", "Compression", "Containers", "Telemetry", "Lifecycle", "CLinux", "CCRC32C",
            "CZstd", "CLZ4"),
        module(
            "OneMachine/APNsSimulator", "APNs", "Identifiers", "ContentSchemas", "Payloads",
            "CatalogRecords", "InstallationRecords", "HTTP2", "HTTPClient", "HTTPServer", "JSON",
            "Cryptography", "TLS", "Containers", "Lifecycle", "Telemetry", "CLinux"),

        // What only tests import.
        module("Tests/Support/ProcessTesting", "CLinux"),
        module("Tests/Support/Simulation", "Lifecycle"),
        module("Tests/Support/RecordTesting", "RecordFormat", "ContentSchemas", "JSON", "Simulation"),
        module("Tests/Support/KafkaTesting", "CRdKafka", "Broker", "Lifecycle"),
        module(
            "Tests/Support/IngestTesting", "Ingest", "StageSupport", "Catalog", "Topics", "Identifiers",
            "RecordFormat", "TokenSealing", "CatalogRecords", "InstallationRecords", "Kafka",
            "KafkaTesting", "JSON", "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),
        module(
            "Tests/Support/FanOutTesting", "FanOut", "IngestTesting", "Topics", "Identifiers",
            "RecordFormat", "Payloads", "TokenSealing", "CatalogRecords", "InstallationRecords", "Sends",
            "Jobs", "Kafka", "Store", "JSON", "ProcessTesting", "Simulation", "Lifecycle", "Telemetry"),
        module(
            "Tests/Support/SchedulerTesting", "Scheduler", "IngestTesting", "Topics", "Identifiers",
            "RecordFormat", "Payloads", "Sends", "Schedules", "Kafka", "JSON", "Simulation", "Telemetry"),
        module(
            "Tests/Support/InsightTesting", "Insight", "IngestTesting", "Topics", "Identifiers",
            "RecordFormat", "Payloads", "CatalogRecords", "InstallationRecords", "Sends", "Schedules",
            "Jobs", "Members", "Kafka", "JSON", "Lifecycle", "ProcessTesting", "Simulation", "Telemetry"),
        module(
            "Tests/Support/WebhooksTesting", "Webhooks", "IngestTesting", "Catalog", "Identifiers",
            "CatalogRecords",
            "InstallationRecords", "RecordFormat", "TokenSealing", "Topics", "Kafka", "TLS", "JSON",
            "Cryptography", "Lifecycle", "ProcessTesting", "Simulation"),
        module(
            "Tests/Support/SenderTesting", "IngestTesting", "APNsSimulator", "Topics", "Identifiers",
            "RecordFormat", "Payloads", "TokenSealing", "CatalogRecords", "Sends", "Jobs", "Kafka", "JSON",
            "Cryptography", "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),

        module(
            "Tests/Support/SenderHistories", "Sender", "APNs", "Identifiers", "RecordFormat", "Payloads",
            "Sends", "Jobs", "JSON", "Lifecycle", "Simulation"),
        cSources("Tests/Support/CWrongClock"),
        module(
            "Tests/Support/InstallationTesting", "SenderTesting", "IngestTesting", "APNsSimulator",
            "Catalog", "Topics", "Identifiers", "Payloads", "TokenSealing", "CatalogRecords", "Jobs",
            "Kafka", "HTTPClient", "JSON", "Cryptography", "CLinux", "Telemetry", "ProcessTesting",
            "Simulation"),

        // The fleet in virtual time. It has its own functions in place of librdkafka and of the clocks, so no other
        // program links it.
        cSources("Tests/Support/CSimulatedLibrary"),
        .executableTarget(
            name: "flotilla-simulation",
            dependencies: [
                "CSimulatedLibrary", "Simulation", "Broker", "Containers", "Telemetry", "Lifecycle", "JSON",
                "Kafka", "Identifiers", "RecordFormat", "Payloads", "CatalogRecords", "InstallationRecords",
                "Sends", "Jobs", "Topics", "Catalog", "StageSupport", "Ingest", "FanOut", "Sender",
                "Scheduler", "Schedules", "Gateway", "APNsSimulator", "HTTP2", "TLS", "Cryptography",
                "Settings",
            ],
            path: "Tests/Support/flotilla-simulation", swiftSettings: strict),

        // The commands.
        command(
            "flotilla-bench", "CLinux", "Lifecycle", "Telemetry", "JSON", "Store", "Broker", "Kafka",
            "HTTPClient", "KafkaTesting", "CKafkaPeer", "Cryptography", "TLS", "HTTP2", "Identifiers",
            "RecordFormat", "ContentSchemas", "Payloads", "TokenSealing", "CatalogRecords",
            "InstallationRecords", "Sends", "Schedules", "Jobs", "Members", "APNs", "APNsSimulator",
            "Topics", "Catalog", "StageSupport", "Settings", "Ingest", "IngestTesting", "Insight",
            "InsightTesting", "FanOut", "FanOutTesting", "Scheduler", "SchedulerTesting", "Sender",
            "SenderTesting", "SenderHistories", "InstallationTesting", "Registry", "Webhooks",
            "WebhooksTesting", "Simulation", "ProcessTesting"),
        command(
            "flotilla", "Telemetry", "Lifecycle", "Settings", "Broker", "Kafka", "HTTPClient",
            "HTTPServer", "JSON", "Cryptography", "TLS", "Store", "Identifiers", "RecordFormat",
            "Payloads", "TokenSealing", "CatalogRecords", "InstallationRecords", "Sends", "Jobs", "CLinux",
            "APNs", "APNsSimulator", "Topics", "Catalog", "StageSupport", "Members", "Gateway", "Ingest",
            "Registry", "FanOut", "Sender", "Scheduler", "Insight", "Webhooks", "Replay"),

        // Tests of the foundations.
        tests("ContainersTests", "Containers", "Simulation"),
        tests("TelemetryTests", "Telemetry"),
        tests("LifecycleTests", "Lifecycle", "Telemetry"),
        tests("SettingsTests", "Settings"),

        // Tests of the wrappers.
        tests("CryptographyTests", "Cryptography", "TLS", "ProcessTesting"),
        tests("TLSTests", "TLS", "Cryptography", "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),
        tests("HTTP2Tests", "HTTP2", "Lifecycle", "Cryptography", "TLS", "ProcessTesting", "Simulation"),
        cSources("Tests/Support/CStoreFaults"),
        tests("StoreTests", "Store", "Lifecycle", "CStoreFaults", "Telemetry", "Simulation"),
        tests("SQLiteTests", "SQLite"),
        tests("JSONTests", "JSON", "Simulation"),
        tests("KafkaPureTests", "Kafka", "Lifecycle", "ProcessTesting"),
        tests(
            "KafkaTests", "Kafka", "KafkaTesting", "Broker", "Telemetry", "Lifecycle", "ProcessTesting"),
        tests("HTTPClientTests", "HTTPClient", "Lifecycle"),
        tests(
            "HTTPServerTests", "HTTPServer", "TLS", "JSON", "Lifecycle", "Telemetry", "ProcessTesting"),

        // Tests of the domain.
        tests("IdentifiersTests", "Identifiers"),
        tests("RecordFormatTests", "RecordFormat", "JSON", "RecordTesting"),
        tests("ContentSchemasTests", "ContentSchemas", "JSON", "RecordTesting", "Simulation", "Telemetry"),
        tests("PayloadsTests", "Payloads", "JSON", "RecordTesting"),
        tests("TokenSealingTests", "Identifiers", "RecordFormat", "TokenSealing", "JSON"),
        tests(
            "CatalogRecordsTests", "Identifiers", "RecordFormat", "Payloads", "CatalogRecords", "JSON",
            "RecordTesting"),
        tests(
            "InstallationRecordsTests", "Identifiers", "RecordFormat", "TokenSealing",
            "InstallationRecords", "JSON", "RecordTesting"),
        tests("SendsTests", "Identifiers", "RecordFormat", "Payloads", "Sends", "JSON", "RecordTesting"),
        tests(
            "SchedulesTests", "Identifiers", "RecordFormat", "Payloads", "Sends", "Schedules", "JSON",
            "RecordTesting"),
        tests(
            "JobsTests", "Identifiers", "RecordFormat", "Payloads", "Sends", "Jobs", "JSON",
            "RecordTesting", "Simulation"),
        tests(
            "APNsTests", "APNs", "JSON", "Cryptography", "TLS", "Lifecycle", "Telemetry", "ProcessTesting",
            "Simulation", "Identifiers"),

        tests(
            "APNsClientTests", "APNs", "APNsSimulator", "Identifiers", "Payloads", "HTTP2", "JSON",
            "Cryptography", "TLS", "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),
        tests(
            "APNsSimulatorTests", "APNsSimulator", "APNs", "Identifiers", "ContentSchemas", "Payloads",
            "CatalogRecords", "InstallationRecords", "HTTP2", "JSON", "Cryptography", "TLS", "Lifecycle",
            "Telemetry", "ProcessTesting", "Simulation"),

        // Tests of the stages.
        tests("ConsoleTests", "Console", "Compression", "HTTPServer"),
        tests("TopicsTests", "Topics", "Kafka", "KafkaTesting", "Lifecycle", "Telemetry"),
        tests(
            "CatalogTests", "Catalog", "Topics", "Identifiers", "RecordFormat", "TokenSealing",
            "CatalogRecords", "Kafka", "KafkaTesting", "JSON", "Cryptography", "Telemetry", "Lifecycle",
            "ProcessTesting"),
        tests(
            "GatewayTests", "Gateway", "FanOut", "Insight", "Console", "Compression", "Replay",
            "StageSupport",
            "Settings",
            "Catalog", "Topics", "Identifiers", "RecordFormat", "ContentSchemas", "Payloads",
            "TokenSealing", "CatalogRecords", "InstallationRecords", "Sends", "Schedules", "Kafka",
            "KafkaTesting", "HTTPClient", "HTTPServer", "JSON", "Cryptography", "Lifecycle", "Telemetry",
            "ProcessTesting", "Simulation"),
        tests(
            "IngestPureTests", "Ingest", "IngestTesting", "StageSupport", "Kafka", "Topics", "Identifiers",
            "RecordFormat", "TokenSealing", "CatalogRecords", "InstallationRecords", "Store",
            "ProcessTesting", "Lifecycle", "JSON", "Telemetry", "Simulation"),
        tests(
            "IngestTests", "Ingest", "IngestTesting", "StageSupport", "Broker", "Catalog", "Topics",
            "Identifiers", "RecordFormat", "TokenSealing", "CatalogRecords", "InstallationRecords",
            "Kafka", "KafkaTesting", "Store", "JSON", "Lifecycle", "Telemetry", "ProcessTesting",
            "Simulation"),
        tests(
            "RegistryTests", "Registry", "Identifiers", "RecordFormat", "CatalogRecords",
            "InstallationRecords", "Sends", "Kafka", "KafkaTesting", "Store", "Lifecycle", "CStoreFaults",
            "JSON", "Telemetry", "ProcessTesting", "Simulation"),
        tests(
            "FanOutTests", "FanOut", "Registry", "Identifiers", "RecordFormat", "ContentSchemas",
            "Payloads", "CatalogRecords", "InstallationRecords", "Sends", "Schedules", "Jobs",
            "StageSupport", "Kafka", "Store", "Lifecycle", "JSON", "Simulation", "Telemetry",
            "ProcessTesting"),
        tests(
            "SchedulerTests", "Scheduler", "StageSupport", "Identifiers", "RecordFormat", "Payloads",
            "Sends", "Schedules", "Store", "JSON", "Lifecycle", "Simulation"),
        tests(
            "SchedulerStageTests", "Scheduler", "SchedulerTesting", "FanOut", "IngestTesting",
            "StageSupport", "Topics", "Identifiers", "RecordFormat", "Payloads", "CatalogRecords", "Sends",
            "Schedules", "Kafka", "KafkaTesting", "JSON", "Lifecycle", "Telemetry", "ProcessTesting",
            "Simulation"),
        tests(
            "SenderTests", "Sender", "SenderHistories", "APNs", "Identifiers", "Payloads", "Sends", "Jobs",
            "JSON", "Lifecycle", "Simulation"),
        tests(
            "InsightTests", "Insight", "InsightTesting", "Members", "IngestTesting", "Catalog",
            "StageSupport", "Topics", "Identifiers", "RecordFormat", "Payloads", "CatalogRecords",
            "InstallationRecords", "Sends", "Jobs", "Kafka", "KafkaTesting", "Store", "SQLite",
            "HTTPServer", "HTTPClient", "TLS", "JSON", "Lifecycle", "Telemetry", "ProcessTesting",
            "Simulation"),
        tests(
            "FanOutStageTests", "FanOut", "FanOutTesting", "IngestTesting", "StageSupport", "Topics",
            "Identifiers", "RecordFormat", "Payloads", "TokenSealing", "CatalogRecords",
            "InstallationRecords", "Sends", "Kafka", "KafkaTesting", "JSON", "Lifecycle", "Telemetry",
            "ProcessTesting", "Simulation"),
        tests(
            "SenderWorkerTests", "Sender", "SenderTesting", "Replay", "APNs", "APNsSimulator", "Broker",
            "IngestTesting", "StageSupport", "Catalog", "Topics", "Identifiers", "RecordFormat",
            "Payloads", "TokenSealing", "CatalogRecords", "Sends", "Jobs", "Kafka", "KafkaTesting", "JSON",
            "Cryptography", "TLS", "Settings", "Lifecycle", "Telemetry", "ProcessTesting"),

        tests(
            "WebhooksTests", "Webhooks", "WebhooksTesting", "IngestTesting", "Members", "StageSupport",
            "Catalog", "Topics", "Identifiers", "RecordFormat", "CatalogRecords", "InstallationRecords",
            "Sends", "TokenSealing", "Kafka", "KafkaTesting", "TLS", "JSON", "Cryptography", "Settings",
            "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),
        tests(
            "ReplayTests", "Replay", "IngestTesting", "Topics", "Identifiers", "RecordFormat", "Payloads",
            "Sends", "Jobs", "Kafka", "KafkaTesting", "JSON", "Telemetry", "ProcessTesting"),

        // Tests of the commands.
        tests(
            "FlotillaTests", "flotilla", "Members", "Ingest", "FanOut", "Scheduler", "Sender", "Insight",
            "StageSupport", "Topics", "WebhooksTesting", "Lifecycle", "ProcessTesting"),
        tests("FleetSimulationTests", "ProcessTesting", "Simulation"),
        tests("InstallationTests", "InstallationTesting", "KafkaTesting", "ProcessTesting"),

        // Tests of the outside world.
        tests("BrokerTests", "Broker", "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),
        tests("BrokerLogTests", "Broker", "Compression", "Lifecycle", "Telemetry", "CLinux", "Simulation"),
        tests("BrokerCoordinatorTests", "Broker", "Lifecycle", "Telemetry"),
    ],
    cxxLanguageStandard: .cxx17
)

// The layers, from bottom to top.
let layers = ["CLibraries", "Platform", "Domain", "OneMachine", "Stages", "Commands"]
let stages = ["Gateway", "Ingest", "FanOut", "Sender", "Scheduler", "Insight", "Webhooks"]

func layer(of target: Target) -> Int {
    let folders = (target.path ?? "Tests").split(separator: "/").map(String.init)
    return folders.first == "Sources" ? layers.firstIndex(of: folders[1])! : layers.count
}

let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
for target in package.targets where layer(of: target) < layers.firstIndex(of: "Commands")! {
    for case .byNameItem(let name, _) in target.dependencies {
        precondition(
            layer(of: targets[name]!) <= layer(of: target), "\(target.name) is in a lower layer than \(name)")
        precondition(
            !stages.contains(name) || !stages.contains(target.name),
            "\(target.name) is a stage, as \(name) is")
    }
}
