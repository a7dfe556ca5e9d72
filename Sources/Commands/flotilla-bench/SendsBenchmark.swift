internal import CatalogRecords
internal import ContentSchemas
internal import Foundation
internal import JSON

/// A measurement of sends through one gateway, from the backend to Kafka's acknowledgement: the highest rate,
/// and the latency at the promised rate.
enum SendsBenchmark {
    private static let rounds = 3
    /// The sends of one round.
    private static let requests = 60_000
    private static let connections = 64
    /// Divides `promisedPerSecond` without a remainder.
    private static let latencyConnections = 50
    private static let promisedPerSecond = 5_000
    private static let latencySeconds = 20

    static func run(arguments: [String]) throws {
        var reader = OptionReader(arguments)
        let brokers = try reader.removeBrokers()?.joined(separator: ",")
        if let name = reader.nextName() { throw BenchmarkFailure.unknownOption(name) }
        let cluster = brokers ?? "the embedded broker"
        print("sends through one gateway by HTTP/1.1, \(connections) connections, into \(cluster)")
        for (name, body) in [("600 B", makeBody(padding: 420)), ("3.5 KB", makeBody(padding: 3_300))] {
            var rates: [WorkRate] = []
            for _ in 0..<rounds { rates.append(try measureRound(body: body, brokers: brokers)) }
            print(
                "  \(name): \(grouped(rates.map(\.perCoreSecond).median)) sends per second of the gateway's processor time, \(grouped(rates.map(\.perSecond).median)) per second at the client"
            )
        }
        try measureLatency(brokers: brokers)
        try measureVisibility(brokers: brokers)
    }

    private static func makeTestBed(brokers: String?) throws -> GatewayTestBed {
        try GatewayTestBed(role: .send, types: [try makeActivityType()], brokers: brokers)
    }

    private static func measureRound(body: String, brokers: String?) throws -> WorkRate {
        let testBed = try makeTestBed(brokers: brokers)
        let posted = try testBed.post(body, to: "/v1/sends", requests: requests, connections: connections)
        return WorkRate(
            count: Double(requests), seconds: posted.seconds, processorSeconds: testBed.tearDown())
    }

    /// Measures the latency of the gateway at the promised rate, evenly spread over the connections.
    private static func measureLatency(brokers: String?) throws {
        let testBed = try makeTestBed(brokers: brokers)
        let perConnection = promisedPerSecond / latencyConnections
        let posted = try testBed.post(
            makeBody(padding: 420), to: "/v1/sends", requests: latencySeconds * promisedPerSecond,
            connections: latencyConnections, options: ["--rps", "\(perConnection)"])
        let cores = testBed.tearDown() / posted.seconds
        func milliseconds(at share: Double) -> String {
            String(format: "%.1f", posted.milliseconds(at: share))
        }
        print(
            "  at \(grouped(Double(promisedPerSecond))) a second, \(String(format: "%.2f", cores)) cores of the gateway: 50 % within \(milliseconds(at: 0.5)) ms, 95 % \(milliseconds(at: 0.95)), 99 % \(milliseconds(at: 0.99)), 99.9 % \(milliseconds(at: 0.999)), the longest \(milliseconds(at: 1))"
        )
    }

    /// Measures the time from the gateway's 202 to the job, with a fan-out beside the gateway.
    private static func measureVisibility(brokers: String?) throws {
        let testBed = try makeTestBed(brokers: brokers)
        let latencies = try JobVisibilityBenchmark(testBed: testBed).measure()
        _ = testBed.tearDown()
        let flush = brokers == nil ? "; this broker does not sync" : ""
        print("  one user's updates, from the 202 to the visible job: \(latencies)\(flush)")
    }

    private static func makeActivityType() throws -> ActivityType {
        var type = ActivityType(name: "MatchAttributes")
        let schema = #"{"homeTeamScore":"int","awayTeamScore":"int","matchStatus":"string"}"#
        type.contentStateSchema = try JSONReader().read(Array(schema.utf8)) { ContentSchema(from: $0) }
        return type
    }

    /// Returns an update that is checked against the type's schema.
    private static func makeBody(padding: Int) -> String {
        let status = String(repeating: "x", count: padding)
        return
            #"{"event":"update","groupId":"match-42","contentState":{"homeTeamScore":1,"awayTeamScore":0,"matchStatus":"\#(status)"},"alert":{"title":"Goal","body":"1:0"}}"#
    }
}
