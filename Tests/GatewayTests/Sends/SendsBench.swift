import Catalog
import CatalogRecords
import ContentSchemas
import Foundation
import JSON
import Kafka
import Lifecycle
import RecordFormat
import Sends
import Telemetry
import Testing
import Topics

@testable import Gateway

// The bench for tests of sends: its two apps have the activity type of Netmera's examples. It also reads the topics.
extension GatewayBench {
    static let matchType = "MatchLiveScoreWidgetAttributes"

    /// Starts a gateway on a new cluster.
    static func forSends(
        topics: [TopicName] = GatewayService.topics, _ change: (inout GatewaySettings) -> Void = { _ in }
    ) async throws -> GatewayBench {
        let bench = try await onTestCluster(topics: topics, change)
        try await bench.putTypes()
        try await bench.startAndWait()
        return bench
    }

    /// Puts the activity types of the apps.
    func putTypes() async throws {
        let (settings, layout) = (settings, layout)
        try await onThread {
            let writer = try CatalogWriter(
                settings, catalog: layout.name(of: .catalog), audit: layout.name(of: .audit),
                author: "a test",
                metrics: Metrics())
            for app in ["shop", "bank"] {
                var match = ActivityType(name: Self.matchType)
                match.requiredAttributes = ["leagueName", "homeTeamName", "awayTeamName", "matchStartTime"]
                let schema = #"{"homeTeamScore":"int","awayTeamScore":"int","matchStatus":"string"}"#
                match.contentStateSchema = try JSONReader().read(Array(schema.utf8)) {
                    ContentSchema(from: $0)
                }
                try writer.write(.put(ActivityTypeRecord(app: app, type: match)), now: .now())
            }
        }
    }

    /// Sends one request on its own connection.
    ///
    /// - Parameter key: `app/role`, the text of a key, or nil for no key.
    func call(
        _ method: String, _ path: String, body: String = "", key: String? = "shop/send",
        headers: [String] = []
    ) async throws -> HTTPAnswer {
        // Netmera's interface has its own header for the key.
        let isNetmera = path.hasPrefix("/rest/")
        let keyHeader = key.map { name in
            let text = keys[name] ?? name
            // White space around the value of a header does not count.
            return [isNetmera ? "X-Netmera-Api-Key:\(text) " : "Authorization: Bearer \(text)"]
        }
        let port = port
        return try await onThread {
            try HTTPPeer(port: port).exchange(
                method, path, headers: (keyHeader ?? []) + headers, body: Array(body.utf8))
        }
    }

    /// Waits until a topic has at least `count` records, and returns all of them.
    func records(of topic: TopicName, atLeast count: Int) async throws -> [StoredRecord] {
        let (settings, layout) = (settings, layout)
        return try await onThread {
            try StoredRecord.readAll(
                of: layout.name(of: topic), lanes: layout.partitionCount(of: topic), atLeast: count,
                on: settings)
        }
    }

    /// Waits for at least `count` sends, and returns all of them in the order of their acceptance. Checks that each is
    /// in the lane of its key.
    func sends(atLeast count: Int) async throws -> [Send] {
        let reader = JSONReader()
        return try await records(of: .sends, atLeast: count).compactMap { record in
            guard case .send(let send) = try SendRequest.decode(Array(record.value.utf8), with: reader) else {
                return nil
            }
            #expect(Array(record.key.utf8) == send.scopeKey?.bytes)
            #expect(
                Int(record.partition)
                    == Murmur2.partition(forKey: Array(record.key.utf8).span, partitionCount: layout.lanes))
            #expect(SendID(send.id, lanes: layout.lanes)?.partition == Int(record.partition))
            return send
        }.sorted { $0.acceptedAt < $1.acceptedAt }
    }

    /// Waits for at least `count` entries of the audit of people and settings, and returns all of them.
    func audit(atLeast count: Int) async throws -> [AuditEntry] {
        try await entries(of: .audit, atLeast: count)
    }

    /// Waits for at least `count` entries of the audit of sends, and returns all of them.
    func auditOfSends(atLeast count: Int) async throws -> [AuditEntry] {
        try await entries(of: .auditSends, atLeast: count)
    }

    private func entries(of topic: TopicName, atLeast count: Int) async throws -> [AuditEntry] {
        let reader = JSONReader()
        return try await records(of: topic, atLeast: count).map {
            try AuditEntry.decode(Array($0.value.utf8), with: reader)
        }
    }
}

extension String {
    /// Returns this JSON object with one more member in front.
    ///
    /// - Parameter value: The value of the member as JSON.
    func adding(member name: String, value: String) -> String {
        let otherMembers = drop { $0 != "{" }.dropFirst()
        return #"{"\#(name)":\#(value),\#(otherMembers)"#
    }
}

extension HTTPAnswer {
    /// Returns a member of the answer's object.
    func member(_ name: String) throws -> String {
        let object = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
        return try #require(object?[name].map { "\($0)" }, "\(name) in \(body)")
    }
}
