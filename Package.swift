// swift-tools-version: 6.2
import PackageDescription

// One target per concept; the list below is the architecture, bottom to top. A module imports
// what stands above it in this file and what its line names, nothing else: the build is run with
// `--explicit-target-dependency-import-check error`.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// A Debian library: a module map and a `shim.h` with inline functions for what Swift cannot call.
func library(_ name: String, apt: String...) -> Target {
    .systemLibrary(name: name, providers: [.apt(apt)])
}

/// Code of the product: every use of an unsafe construct is spelled out.
func module(_ name: String, _ dependencies: String..., features: String...) -> Target {
    .target(
        name: name, dependencies: dependencies.map { .byName(name: $0) },
        swiftSettings: strict + [.strictMemorySafety()] + features.map { .enableExperimentalFeature($0) })
}

func command(_ name: String, _ dependencies: String...) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies.map { .byName(name: $0) },
        swiftSettings: strict + [.strictMemorySafety()])
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
        .target(name: "CCRC32C"),
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),
        library("CRdKafka", apt: "librdkafka-dev"),
        .target(name: "CKafkaPeer", linkerSettings: [.linkedLibrary("rdkafka")]),

        // Foundations.
        module("Telemetry", "CLinux"),
        module("Lifecycle", "CLinux", "Telemetry"),
        module("Settings"),

        // One wrapper per C library, its only caller.
        module("Cryptography", "COpenSSL", "CLinux"),
        module("TLS", "COpenSSL", "CLinux", "Cryptography", "Telemetry", "Lifecycle"),
        module("HTTP2", "CNghttp2", "Lifecycle"),
        module(
            "Kafka", "CRdKafka", "CLinux", "Cryptography", "Telemetry", "Lifecycle", features: "Lifetimes"),
        module("Store", "CLMDB", "CCRC32C", "CLinux", "Telemetry", features: "Lifetimes"),
        module("SQLite", "CSQLite"),
        module("JSON", "CSimdJSON"),
        module("HTTPClient", "Lifecycle"),
        module("HTTPServer", "CMicroHTTPD", "CLinux", "JSON", "Lifecycle", "Telemetry"),

        // The domain.
        module("LiveActivity", "JSON", "Settings", "Cryptography", features: "Lifetimes"),

        // Speaking to Apple.
        module(
            "APNs", "LiveActivity", "HTTP2", "JSON", "Cryptography", "TLS", "Lifecycle", "Telemetry",
            "CLinux"),

        // What every stage shares: the topics as they must be, and the catalogue of apps and keys.
        module("Topics", "Kafka", "Lifecycle", "Telemetry"),
        module(
            "Catalog", "LiveActivity", "Topics", "Kafka", "JSON", "Cryptography", "Lifecycle", "Telemetry"),
        module(
            "Stages", "Catalog", "LiveActivity", "Topics", "Kafka", "Store", "JSON", "Settings", "Lifecycle",
            "Telemetry"),

        // What people do about what failed.
        module(
            "Replay", "APNs", "LiveActivity", "Topics", "Kafka", "JSON", "Cryptography", "Lifecycle",
            "Telemetry", features: "Lifetimes"),

        // What people look at: files in the binary.
        .target(name: "CConsole", exclude: ["web"]),
        module("Console", "CConsole", "HTTPServer", "Cryptography"),

        // Which process answers for which lanes, and asking it.
        module(
            "Members", "LiveActivity", "Kafka", "HTTPClient", "JSON", "Lifecycle", "Telemetry"),

        // The stages; they meet in the records of the topics and never import one another.
        module(
            "Gateway", "Stages", "Members", "Console", "Replay", "LiveActivity", "Catalog", "Topics", "Kafka",
            "HTTPServer", "HTTPClient", "JSON", "Cryptography", "Settings", "Lifecycle", "Telemetry"),
        module(
            "Ingest", "Stages", "LiveActivity", "Catalog", "Topics", "Kafka", "Store", "JSON", "Settings",
            "Lifecycle", "Telemetry"),
        module(
            "Registry", "LiveActivity", "Kafka", "Store", "JSON", "Cryptography", "Telemetry",
            features: "Lifetimes"),
        module(
            "FanOut", "Stages", "Registry", "LiveActivity", "Catalog", "Topics", "Kafka", "Store", "JSON",
            "Cryptography", "Settings", "Lifecycle", "Telemetry", features: "Lifetimes"),
        module(
            "Sender", "Stages", "APNs", "LiveActivity", "Catalog", "Topics", "Kafka", "JSON", "Cryptography",
            "Settings", "Lifecycle", "Telemetry", features: "Lifetimes"),
        module(
            "Scheduler", "Stages", "LiveActivity", "Topics", "Kafka", "Store", "JSON", "Cryptography",
            "Settings", "Lifecycle", "Telemetry", features: "Lifetimes"),
        module(
            "Insight", "Stages", "Members", "LiveActivity", "Topics", "Kafka", "Store", "SQLite", "JSON",
            "HTTPServer", "HTTPClient", "Cryptography", "Settings", "Lifecycle", "Telemetry",
            features: "Lifetimes"),

        // The outside world on one machine.
        module(
            "Broker", "Telemetry", "Lifecycle", "CLinux", "CCRC32C", "CZstd", "CLZ4", "CZlib"),
        module(
            "APNsSimulator", "APNs", "LiveActivity", "HTTP2", "HTTPClient", "HTTPServer", "JSON",
            "Cryptography", "TLS",
            "Lifecycle", "Telemetry", "CLinux"),

        // What only tests import.
        module("ProcessTesting", "CLinux"),
        module("Simulation", "Lifecycle"),
        module("KafkaTesting", "CRdKafka", "Broker", "Lifecycle"),
        module(
            "IngestTesting", "Ingest", "Stages", "Catalog", "Topics", "LiveActivity", "Kafka", "JSON",
            "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),
        module(
            "FanOutTesting", "FanOut", "IngestTesting", "Topics", "LiveActivity", "Kafka", "Store", "JSON",
            "ProcessTesting", "Simulation", "Lifecycle", "Telemetry"),
        module(
            "SchedulerTesting", "Scheduler", "IngestTesting", "Topics", "LiveActivity", "Kafka", "JSON",
            "Simulation", "Telemetry"),
        module(
            "InsightTesting", "Insight", "IngestTesting", "Topics", "LiveActivity", "Kafka", "JSON",
            "Lifecycle",
            "Simulation", "Telemetry"),
        module(
            "SenderTesting", "IngestTesting", "APNsSimulator", "Topics", "LiveActivity", "Kafka", "JSON",
            "Cryptography", "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),

        module("SenderHistories", "Sender", "APNs", "LiveActivity", "JSON", "Lifecycle", "Simulation"),
        .target(name: "CWrongClock"),
        module(
            "InstallationTesting", "SenderTesting", "IngestTesting", "APNsSimulator", "Catalog", "Topics",
            "LiveActivity", "Kafka", "HTTPClient", "JSON", "Cryptography", "CLinux", "Telemetry",
            "ProcessTesting", "Simulation"),

        // The commands.
        command(
            "flotilla-bench", "CLinux", "Lifecycle", "Telemetry", "JSON", "Store", "Broker", "Kafka",
            "HTTPClient",
            "KafkaTesting", "CKafkaPeer", "Cryptography", "TLS", "HTTP2", "LiveActivity", "APNs",
            "APNsSimulator", "Topics",
            "Catalog", "Stages", "Settings", "Ingest", "IngestTesting", "Insight", "InsightTesting", "FanOut",
            "FanOutTesting", "Scheduler", "SchedulerTesting", "Sender", "SenderTesting", "SenderHistories",
            "InstallationTesting", "Registry",
            "Simulation", "ProcessTesting"),
        command(
            "flotilla", "Telemetry", "Lifecycle", "Settings", "Broker", "Kafka", "HTTPClient", "HTTPServer",
            "JSON",
            "Cryptography", "TLS", "Store", "LiveActivity", "APNs", "APNsSimulator", "Topics", "Catalog",
            "Stages", "Members", "Gateway", "Ingest", "Registry", "FanOut", "Sender", "Scheduler", "Insight",
            "Replay"),

        // Tests of the foundations.
        tests("TelemetryTests", "Telemetry"),
        tests("LifecycleTests", "Lifecycle", "Telemetry"),
        tests("SettingsTests", "Settings"),

        // Tests of the wrappers.
        tests("CryptographyTests", "Cryptography", "TLS", "ProcessTesting"),
        tests("TLSTests", "TLS", "Cryptography", "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),
        tests("HTTP2Tests", "HTTP2", "Lifecycle", "Cryptography", "TLS", "ProcessTesting", "Simulation"),
        .target(name: "CStoreFaults", path: "Tests/CStoreFaults"),
        tests("StoreTests", "Store", "CStoreFaults", "Telemetry", "Simulation"),
        tests("SQLiteTests", "SQLite"),
        tests("JSONTests", "JSON", "Simulation"),
        tests("KafkaPureTests", "Kafka", "Lifecycle", "ProcessTesting"),
        tests(
            "KafkaTests", "Kafka", "KafkaTesting", "Broker", "Telemetry", "Lifecycle", "ProcessTesting"),
        tests("HTTPClientTests", "HTTPClient"),
        tests("HTTPServerTests", "HTTPServer", "JSON", "Lifecycle", "Telemetry", "ProcessTesting"),

        // Tests of the domain.
        tests("LiveActivityTests", "LiveActivity", "JSON", "Simulation"),
        tests(
            "APNsTests", "APNs", "JSON", "Cryptography", "TLS", "Lifecycle", "Telemetry", "ProcessTesting",
            "Simulation"),

        tests(
            "APNsClientTests", "APNs", "APNsSimulator", "LiveActivity", "HTTP2", "JSON", "Cryptography",
            "TLS", "Lifecycle",
            "Telemetry", "ProcessTesting", "Simulation"),
        tests(
            "APNsSimulatorTests", "APNsSimulator", "APNs", "LiveActivity", "HTTP2", "JSON", "Cryptography",
            "TLS",
            "Lifecycle",
            "Telemetry", "ProcessTesting", "Simulation"),

        // Tests of the stages.
        tests("ConsoleTests", "Console"),
        tests("TopicsTests", "Topics", "Kafka", "KafkaTesting", "Telemetry"),
        tests(
            "CatalogTests", "Catalog", "Topics", "LiveActivity", "Kafka", "KafkaTesting", "JSON",
            "Cryptography", "Telemetry", "Lifecycle", "ProcessTesting"),
        tests(
            "GatewayTests", "Gateway", "Insight", "Console", "Replay", "Stages", "Settings", "Catalog",
            "Topics",
            "LiveActivity", "Kafka",
            "KafkaTesting", "HTTPServer", "JSON", "Cryptography", "Lifecycle", "Telemetry",
            "ProcessTesting", "Simulation"),
        tests(
            "IngestPureTests", "Ingest", "IngestTesting", "Stages", "Kafka", "Topics", "LiveActivity",
            "Lifecycle", "JSON",
            "Telemetry",
            "Simulation"),
        tests(
            "IngestTests", "Ingest", "IngestTesting", "Stages", "Broker", "Catalog", "Topics", "LiveActivity",
            "Kafka", "KafkaTesting", "Store", "JSON",
            "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),
        tests(
            "RegistryTests", "Registry", "LiveActivity", "Kafka", "KafkaTesting", "Store", "CStoreFaults",
            "JSON", "Telemetry", "ProcessTesting", "Simulation"),
        tests(
            "FanOutTests", "FanOut", "Registry", "LiveActivity", "Store", "JSON", "Simulation", "Telemetry",
            "ProcessTesting"),
        tests(
            "SchedulerTests", "Scheduler", "Stages", "LiveActivity", "Store", "JSON", "Lifecycle",
            "Simulation"),
        tests(
            "SchedulerStageTests", "Scheduler", "SchedulerTesting", "FanOut", "IngestTesting", "Stages",
            "Topics", "LiveActivity", "Kafka", "KafkaTesting", "JSON", "Lifecycle", "Telemetry",
            "ProcessTesting", "Simulation"),
        tests(
            "SenderTests", "Sender", "SenderHistories", "APNs", "LiveActivity", "JSON", "Lifecycle",
            "Simulation"),
        tests(
            "InsightTests", "Insight", "InsightTesting", "Members", "IngestTesting", "Catalog", "Stages",
            "Topics", "LiveActivity",
            "Kafka", "KafkaTesting", "Store", "SQLite", "HTTPServer", "JSON", "Lifecycle", "Telemetry",
            "ProcessTesting", "Simulation"),
        tests(
            "FanOutStageTests", "FanOut", "FanOutTesting", "IngestTesting", "Stages", "Topics",
            "LiveActivity",
            "Kafka", "KafkaTesting", "JSON", "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),
        tests(
            "SenderWorkerTests", "Sender", "SenderTesting", "Replay", "APNs", "APNsSimulator", "Broker",
            "IngestTesting",
            "Stages",
            "Catalog",
            "Topics", "LiveActivity", "Kafka", "KafkaTesting", "JSON", "Cryptography", "TLS", "Settings",
            "Lifecycle", "Telemetry", "ProcessTesting"),

        tests(
            "ReplayTests", "Replay", "IngestTesting", "Topics", "LiveActivity", "Kafka", "KafkaTesting",
            "JSON",
            "Telemetry", "ProcessTesting"),

        // Tests of the commands.
        tests("FlotillaTests", "flotilla", "Members", "Lifecycle", "ProcessTesting"),
        tests("InstallationTests", "InstallationTesting", "KafkaTesting", "ProcessTesting"),

        // Tests of the outside world.
        tests("BrokerTests", "Broker", "Lifecycle", "Telemetry", "ProcessTesting", "Simulation"),
        tests("BrokerLogTests", "Broker", "Lifecycle", "Telemetry", "CLinux", "Simulation"),
        tests("BrokerCoordinatorTests", "Broker", "Lifecycle", "Telemetry"),
    ],
    cxxLanguageStandard: .cxx17
)
