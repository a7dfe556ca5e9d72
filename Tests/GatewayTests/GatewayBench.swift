import Catalog
import CatalogRecords
import Foundation
import Identifiers
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import Settings
import StageSupport
import Synchronization
import Telemetry
import TokenSealing
import Topics

@testable import Gateway

/// A gateway in this process with the apps `shop` and `bank` and a key for each of their roles, on a cluster that the
/// test chooses.
///
/// A test makes a bench, starts it with `startAndWait`, calls it over HTTP, reads the topics with `reports` or
/// `records`, and stops it with `stop`.
final class GatewayBench: Sendable {
    private static let apps = ["shop", "bank"]

    let service: GatewayService
    /// The environment of the gateway, for other stages beside it.
    let environment: StageEnvironment
    let layout: TopicLayout
    /// The settings of the cluster.
    let settings: KafkaSettings
    let metrics = Metrics()
    /// The errors that the gateway could not handle.
    let failures = TracedLock<[String]>([])
    /// The texts of the keys by app and role: `shop/report`.
    let keys: [String: String]
    /// The records of the keys by app and role.
    let keyRecords: [String: APIKey]
    private let log: LogSink
    private let directory: TemporaryDirectory
    /// The catalog reader, which runs beside the stage as in every process.
    private let catalog: CatalogReader
    /// The cluster of `onTestCluster`, which must live as long as its gateways. Nil if the test keeps the cluster.
    private let testCluster: TestCluster?

    var port: Int { service.address?.port ?? 0 }

    /// - Parameters:
    ///   - settings: The settings of a cluster that has the layout's topics.
    ///   - testCluster: The cluster, if the bench keeps it alive.
    ///   - other: A gateway with the same apps and keys that already runs.
    ///   - seconds: The seconds by which the gateway's clock is ahead.
    ///   - isBehind: Whether the catalog stays as it was at the start, until the gateway reads it to its end.
    init(
        _ settings: KafkaSettings, _ layout: TopicLayout, keeping testCluster: TestCluster? = nil,
        beside other: GatewayBench? = nil, aheadBySeconds seconds: Int64 = 0, sealingKeys: SealingKeys? = nil,
        isBehind: Bool = false,
        _ change: (inout GatewaySettings) -> Void = { _ in }
    ) async throws {
        self.settings = settings
        self.layout = layout
        self.testCluster = testCluster
        if let other {
            keys = other.keys
            keyRecords = other.keyRecords
        } else {
            let newKeys = Self.makeKeys()
            keys = newKeys.texts
            keyRecords = newKeys.records
        }
        directory = try TemporaryDirectory()
        let cluster = Cluster(settings: settings)
        let catalog = CatalogReader(cluster, topic: layout.name(of: .catalog))
        self.catalog = catalog
        let slot = try ProcessSlot.acquire(under: directory.path)
        environment =
            isBehind
            ? Self.environmentBehind(
                catalog, cluster: cluster, layout: layout, slot: slot, sealingKeys: sealingKeys)
            : StageEnvironment(
                cluster: cluster, layout: layout, slot: slot, sealingKeys: sealingKeys, catalog: catalog)
        var gatewaySettings = GatewaySettings()
        gatewaySettings.listen = HostPort(host: "127.0.0.1", port: 0)
        change(&gatewaySettings)
        service = GatewayService(
            gatewaySettings, in: environment,
            clock: GatewayClock {
                WallTime(milliseconds: WallTime.now().milliseconds + seconds * 1000)
            })
        // The descriptor is never closed: clients still write to it after the bench is gone.
        let file = open(directory.filePath(named: "log"), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600)
        log = LogSink(level: .debug, format: .json, descriptor: file)
        if other == nil {
            try await Self.writeCatalog(of: Array(keyRecords.values), layout: layout, on: settings)
        }
    }

    private static func makeKeys() -> (texts: [String: String], records: [String: APIKey]) {
        var texts: [String: String] = [:]
        var records: [String: APIKey] = [:]
        for app in apps {
            for role in APIKey.Role.allCases {
                let (text, record) = APIKeyText.makeKey(app: app, role: role, atMilliseconds: 0)
                texts["\(app)/\(role.rawValue)"] = text
                records["\(app)/\(role.rawValue)"] = record
            }
        }
        return (texts, records)
    }

    /// Returns the environment of a gateway that is behind: its catalog stays as it was when the gateway first looked
    /// at it, until the gateway reads it to its end.
    private static func environmentBehind(
        _ catalog: CatalogReader, cluster: Cluster, layout: TopicLayout, slot: ProcessSlot,
        sealingKeys: SealingKeys?
    ) -> StageEnvironment {
        let firstSnapshot = Mutex<CatalogSnapshot?>(nil)
        return StageEnvironment(
            cluster: cluster, layout: layout, slot: slot, sealingKeys: sealingKeys,
            catalog: {
                firstSnapshot.withLock { snapshot in
                    snapshot = snapshot ?? catalog.catalog
                    return snapshot
                }
            }, readOn: { then in catalog.readToCurrentEnd(then: then) })
    }

    /// Writes the apps and their keys to the catalog.
    private static func writeCatalog(
        of keys: [APIKey], layout: TopicLayout, on settings: KafkaSettings
    ) async throws {
        try await onThread {
            let writer = try CatalogWriter(
                settings, catalog: layout.name(of: .catalog), audit: layout.name(of: .audit),
                author: "a test",
                metrics: Metrics())
            for app in apps {
                let app = App(
                    id: app, bundleID: "com.example.\(app)", environments: [.production],
                    teamID: "ABCDE12345", keyID: "KEY1234567")
                try writer.write(.put(app, action: "create"), now: .now())
            }
            for key in keys { try writer.write(.put(key, action: "create"), now: .now()) }
        }
    }

    /// Returns a bench that is not started yet, on a new cluster with topics.
    static func onTestCluster(
        sealingKeys: SealingKeys? = nil, topics: [TopicName] = GatewayService.topics,
        _ change: (inout GatewaySettings) -> Void = { _ in }
    ) async throws -> GatewayBench {
        let cluster = try TestCluster()
        let settings = KafkaSettings(brokers: cluster.brokers)
        let layout = TopicLayout(prefix: "t\(UInt64.random(in: 0 ... .max)).", lanes: 4, replication: 1)
        try await onThread {
            let admin = try AdminClient(settings: settings, log: .silent, metrics: Metrics())
            _ = try layout.create(topics, on: admin)
        }
        return try await GatewayBench(settings, layout, keeping: cluster, sealingKeys: sealingKeys, change)
    }

    /// Returns a second gateway on the same cluster that is ready, with the same apps and keys.
    func another(
        aheadBySeconds seconds: Int64 = 0, sealingKeys: SealingKeys? = nil, isBehind: Bool = false,
        _ change: (inout GatewaySettings) -> Void = { _ in }
    ) async throws -> GatewayBench {
        let bench = try await GatewayBench(
            settings, layout, keeping: testCluster, beside: self, aheadBySeconds: seconds,
            sealingKeys: sealingKeys, isBehind: isBehind, change)
        try await bench.startAndWait()
        return bench
    }

    func start() async throws {
        let failures = failures
        let context = ServiceContext(log: Log(component: "gateway", sink: log), metrics: metrics) { error in
            failures.withLock { $0.append("\(error)") }
        }
        try await catalog.start(context)
        try await service.start(context)
    }

    func startAndWait() async throws {
        try await start()
        try await eventually("readiness") { service.readinessProblems.isEmpty }
    }

    func stop() async {
        await service.stop(by: .now().advanced(byMilliseconds: 5000))
        await catalog.stop(by: .now())
        log.flush()
    }

    /// Returns the whole log. Call it after `stop`.
    func logged() throws -> String {
        try String(contentsOfFile: directory.filePath(named: "log"), encoding: .utf8)
    }

    /// Posts reports on their own connection.
    ///
    /// - Parameter key: `app/role`, the text of a key, or nil for no key.
    func post(_ body: String, key: String? = "shop/report", headers: [String] = []) async throws -> HTTPAnswer
    {
        let lines = key.map { ["Authorization: Bearer \(keys[$0] ?? $0)"] } ?? []
        return try await exchange("POST", "/v1/reports", headers: lines + headers, body: body)
    }

    func get(_ path: String) async throws -> HTTPAnswer {
        try await exchange("GET", path, headers: [], body: "")
    }

    private func exchange(
        _ method: String, _ path: String, headers: [String], body: String
    ) async throws -> HTTPAnswer {
        let port = port
        return try await onThread {
            try HTTPPeer(port: port).exchange(method, path, headers: headers, body: Array(body.utf8))
        }
    }

    /// Waits until the topic of reports has at least `count` records, and returns all of them.
    func reports(atLeast count: Int) async throws -> [StoredRecord] {
        let (settings, layout) = (settings, layout)
        return try await onThread {
            try StoredRecord.readAll(
                of: layout.name(of: .reports), lanes: layout.lanes, atLeast: count, on: settings)
        }
    }
}
