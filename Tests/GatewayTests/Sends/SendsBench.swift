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

/// A gateway with two apps, the activity type of Netmera's examples and a private type, and readers of its
/// topics.
extension GatewayBench {
    static let matchType = "MatchLiveScoreWidgetAttributes"

    static func forSends(
        _ change: (inout GatewaySettings) -> Void = { _ in }
    ) async throws -> (GatewayBench, AnyObject) {
        let (bench, cluster) = try await onTestCluster(change)
        try await bench.putTypes()
        try await bench.startAndWait()
        return (bench, cluster)
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
    func call(
        _ method: String, _ path: String, _ body: String = "", key: String? = "shop/send",
        headers: [String] = []
    ) async throws -> HTTPAnswer {
        let isNetmera = path.hasPrefix("/rest/")
        let lines = key.map { name in
            let text = keys[name] ?? name
            return [isNetmera ? "X-Netmera-Api-Key:\(text) " : "Authorization: Bearer \(text)"]
        }
        let port = port
        return try await onThread {
            try HTTPPeer(port: port).exchange(method, path, (lines ?? []) + headers, Array(body.utf8))
        }
    }

    /// Returns all records of a topic when there are at least `count`.
    func records(_ topic: TopicName, _ count: Int) async throws -> [StoredReport] {
        let (settings, layout) = (settings, layout)
        return try await onThread {
            try StoredReport.all(
                settings, layout.name(of: topic), lanes: layout.partitionCount(of: topic), count)
        }
    }

    /// Returns the sends in the order of their acceptance.
    func sends(_ count: Int) async throws -> [Send] {
        let reader = JSONReader()
        return try await records(.sends, count).compactMap { record in
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

    func audit(_ count: Int) async throws -> [AuditEntry] {
        let reader = JSONReader()
        return try await records(.audit, count).map {
            try AuditEntry.decode(Array($0.value.utf8), with: reader)
        }
    }
}

extension HTTPAnswer {
    /// Returns a member of the answer's object.
    func member(_ name: String) throws -> String {
        let object = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
        return try #require(object?[name].map { "\($0)" }, "\(name) in \(body)")
    }
}
