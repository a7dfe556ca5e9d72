import Catalog
import CatalogRecords
import Cryptography
import Foundation
import Identifiers
import IngestTesting
import InstallationRecords
import JSON
import KafkaTesting
import Lifecycle
import Members
import ProcessTesting
import RecordFormat
import Sends
import Simulation
import TLS
import Telemetry
import Testing
import TokenSealing
import Topics
import WebhooksTesting

@testable import Webhooks

/// The stage on the embedded broker, with a real HTTP endpoint.
@Suite struct WebhookStageTests {
    private let cluster: TestCluster
    private let bed: TestBed
    private let directory: TemporaryDirectory

    init() throws {
        cluster = try TestCluster()
        bed = try TestBed(brokers: cluster.brokers, lanes: 4)
        directory = try TemporaryDirectory()
    }

    private func makeEndpoint(
        types: [WebhookEventType] = [.activityTapped], tls: TLSContext? = nil,
        _ script: @escaping ScriptedEndpoint.Script
    ) throws -> (server: ScriptedEndpoint, record: WebhookTestEndpoint) {
        var record = try WebhookTestEndpoint(
            url: "http://127.0.0.1:1/", types: types, in: directory.path)
        let server = try ScriptedEndpoint(keys: [record.key], tls: tls, script)
        record.record.url = "\(tls == nil ? "http" : "https")://localhost:\(server.port)/hooks?a=b"
        return (server, record)
    }

    /// Writes numbered taps of some users.
    private func writeTaps(_ count: Int, users: Int, from first: Int = 1) throws {
        let writer = try RecordWriter(on: bed, to: .events)
        for number in first..<first + count {
            for user in 0..<users {
                let event = WebhookTestEndpoint.tap(number: number, of: "user-\(user)")
                writer.write(key: event.key, value: event.encoded())
            }
        }
        #expect(writer.finish())
    }

    @Test func `every event arrives signed and in order at an endpoint that is slow and resets`() async throws
    {
        let answers = TracedLock(SeededGenerator(seed: 7))
        let (server, record) = try makeEndpoint { call in
            if call.attempt > 1 { return .status(204) }
            return answers.withLock { answers in
                switch answers.number(below: 40) {
                case 0: .status(500)
                case 1: .reset
                case 2...5: .late(200, milliseconds: 50)
                default: .status(200)
                }
            }
        }
        try writeTaps(20, users: 10)
        let stage = try await RunningWebhooks(bed, endpoint: record, directory: directory.path)
        try await eventually("all events are accepted") { server.acceptedCount == 200 }
        #expect(server.faults.isEmpty, "\(server.faults.first ?? "")")
        let call = try #require(server.calls.first)
        #expect(call.headers["content-type"] == "application/json" && call.type == "activity.tapped")
        await stage.stop()
        #expect(stage.failure == nil)
        #expect(stage.count("flotilla_webhooks_events_total", "outcome", "delivered") == 200)
    }

    @Test func `a send is reported when its lanes have finished it`() async throws {
        let (server, record) = try makeEndpoint(types: [.sendCompleted]) { _ in .status(200) }
        let key = ScopeKey(app: TestBed.app.id, group: "g-1")
        let parts: [ProgressRecord.Part] = [
            .planner(.init(.planned, version: 1, generation: 1, laneCount: 2)),
            .lanes([0], LaneTally()), .lanes([1], LaneTally()),
        ]
        let writer = try RecordWriter(on: bed, to: .progress)
        for part in parts {
            let progress = ProgressRecord(
                send: "s-1", key: key, isDryRun: false, acceptedAt: 1, writtenAt: 2, part: part)
            writer.write(key: progress.recordKey, value: progress.encoded())
        }
        #expect(writer.finish())
        let stage = try await RunningWebhooks(bed, endpoint: record, directory: directory.path)
        try await eventually("the send is reported") { !server.calls.isEmpty }
        let call = try #require(server.calls.first)
        #expect(call.type == "send.completed" && call.body.contains(#""sendId":"s-1""#), "\(call.body)")
        await stage.stop()
    }

    @Test func `the newest calls are remembered with their outcome and the next attempt`() async throws {
        // The id of an event ends with its offset. So the first event of each partition fails once.
        let (server, record) = try makeEndpoint { call in
            call.attempt == 1 && call.id.hasSuffix("-0") ? .status(500) : .status(200)
        }
        try writeTaps(2, users: 6)
        let stage = try await RunningWebhooks(bed, endpoint: record, directory: directory.path)
        try await eventually("all events are accepted") { server.acceptedCount == 12 }
        await stage.stop()
        let newest = stage.deliveries.newest
        #expect(
            newest.allSatisfy { $0.app == "shop" && $0.endpoint == "billing" && $0.type == "activity.tapped" }
        )
        #expect(newest.map(\.at) == newest.map(\.at).sorted(by: >))
        let failed = newest.filter { $0.outcome == "failed" }
        #expect(!failed.isEmpty && newest.count == 12 + failed.count)
        for call in failed {
            #expect(call.attempt == 1 && call.reason == "the endpoint answered 500")
            #expect(try #require(call.nextAttemptAt) > call.at + 4000, "the first pause is five seconds")
            let repeated = newest.filter { $0.event == call.event && $0.outcome == "delivered" }
            #expect(repeated.map(\.attempt) == [2])
        }
    }

    @Test func `a process remembers and publishes a limited number of calls`() throws {
        let log = WebhookDeliveries()
        for number in 0..<WebhookDelivery.countMax * 2 {
            log.add(
                WebhookDelivery(
                    app: "a", endpoint: "e\(number / WebhookDelivery.perEndpointMax)", event: "\(number)",
                    type: "t", at: Int64(number), milliseconds: 1, outcome: "failed", attempt: 1,
                    reason: String(repeating: "r", count: 1000), nextAttemptAt: 7))
        }
        let newest = log.newest
        #expect(newest.count == WebhookDelivery.countMax && newest[0].reason?.count == 200)
        var facts = ProcessFacts(process: "p", version: "1", stages: [], settings: [], startedAt: 0)
        facts.deliveries = newest
        #expect(try ProcessFacts.decode(facts.encoded(), with: JSONReader()) == facts)
    }

    @Test func `a stage that starts again goes on, and a replay sends everything once more`() async throws {
        let (server, firstRecord) = try makeEndpoint { _ in .status(200) }
        var record = firstRecord
        try writeTaps(5, users: 4)
        var stage = try await RunningWebhooks(bed, endpoint: record, directory: directory.path + "/a")
        try await eventually("the first events are accepted") { server.acceptedCount == 20 }
        await stage.stop()
        try writeTaps(5, users: 4, from: 6)
        stage = try await RunningWebhooks(bed, endpoint: record, directory: directory.path + "/b")
        try await eventually("the later events are accepted") { server.acceptedCount == 40 }
        #expect(server.calls.count == 40, "a stop in order repeats nothing")
        record.record.replay = WebhookEndpoint.Replay(requestedAt: 1000, start: .time(0))
        stage.use(record.catalog)
        try await eventually("all events have come again") { server.calls.count == 80 }
        #expect(server.acceptedCount == 40 && server.faults.isEmpty)
        await stage.stop()
    }

    @Test func `an endpoint that answers 410 is disabled in the catalog and not called again`() async throws {
        let (server, record) = try makeEndpoint { _ in .status(410) }
        try writeTaps(3, users: 1)
        let stage = try await RunningWebhooks(bed, endpoint: record, directory: directory.path)
        let name = bed.layout.name(of: .catalog)
        try await eventually("the catalog has the disabled endpoint") {
            let catalog = try CatalogReader.readToEnd(bed.settings, topic: name, metrics: stage.metrics)
            return catalog.webhooks(of: "shop")["billing"]?.disabling != nil
        }
        var disabled = record.record
        disabled.disabling = .init(at: 1, reason: "gone")
        stage.use(WebhookTestEndpoint.catalog(with: disabled))
        try await eventually("the stage counts it as disabled") {
            stage.count("flotilla_webhooks_endpoints", "state", "disabled") == 1
                && stage.count("flotilla_webhooks_endpoints", "state", "served") == 0
        }
        #expect(server.calls.count == 1)
        await stage.stop()
    }

    @Test func `an endpoint that does not answer does not delay another`() async throws {
        let (silent, silentRecord) = try makeEndpoint { _ in .silence }
        let (server, record) = try makeEndpoint { _ in .status(200) }
        var second = record.record
        second.name = "second"
        let secret = WebhookSecret(key: record.key)
        second.secrets = [
            secret.sealed(by: .init(keys: record.sealingKeys), app: "shop", endpoint: "second", now: 0)
        ].compactMap { $0 }
        try writeTaps(50, users: 20)
        let stage = try await RunningWebhooks(bed, endpoint: silentRecord, directory: directory.path) {
            $0.eventsMax = 16
        }
        try await eventually("the silent endpoint is called") { !silent.calls.isEmpty }
        var catalog = silentRecord.catalog
        _ = catalog.apply(key: second.key, value: second.encoded(), with: .init())
        stage.use(catalog)
        try await eventually("the other endpoint has everything") { server.acceptedCount == 1000 }
        #expect(silent.acceptedCount == 0 && server.faults.isEmpty)
        // The gauge is a sum over both endpoints.
        let unfinished = stage.metrics.values(of: "flotilla_webhooks_unfinished_events").map(\.number)
        #expect(unfinished.allSatisfy { $0 <= Double(2 * (16 + WebhooksSettings.batchRecordsMax)) })
        await stage.stop()
    }

    @Test func `an endpoint with TLS is called, and one in a private network is not`() async throws {
        let authority = CertificateAuthority(name: "Test CA")
        let identity = authority.issue(for: ["localhost"])
        let context = try TLSContext.server(
            chain: .text(identity.chainPEM), key: .text(identity.keyPEM), protocols: [],
            acceptsPeersWithoutALPN: true)
        let (server, record) = try makeEndpoint(tls: context) { _ in .status(200) }
        let authorities = directory.path + "/ca.pem"
        try authority.certificatePEM.write(toFile: authorities, atomically: true, encoding: .utf8)
        try writeTaps(3, users: 3)
        let guarded = try await RunningWebhooks(
            bed, endpoint: record, directory: directory.path + "/a"
        ) { settings in
            settings.authorities = authorities
            settings.allowedNetworks = []
        }
        try await eventually("the calls fail") {
            guarded.count("flotilla_webhooks_calls_total", "outcome", "failed") >= 3
        }
        #expect(server.calls.isEmpty)
        await guarded.stop()
        let stage = try await RunningWebhooks(bed, endpoint: record, directory: directory.path + "/b") {
            $0.authorities = authorities
        }
        try await eventually("all events are accepted") { server.acceptedCount == 9 }
        #expect(server.faults.isEmpty)
        await stage.stop()
    }
}
