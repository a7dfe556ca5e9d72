internal import Foundation
internal import JSON
internal import LiveActivity

/// A measurement of sends through one gateway, from the backend to Kafka's acknowledgement: the highest rate,
/// and the latency at the promised rate.
enum SendsBenchmark {
    private static let connections = 64
    private static let promisedPerSecond = 5_000

    static func run(_ arguments: [String]) throws {
        var arguments = arguments
        let given = try Bootstrap.take(from: &arguments)?.joined(separator: ",")
        if let unknown = arguments.first { throw BenchmarkFailure("\(unknown) is not known") }
        let cluster = given ?? "the embedded broker"
        print("sends through one gateway by HTTP/1.1, \(connections) connections, into \(cluster)")
        for (name, body) in [("600 B", body(padding: 420)), ("3.5 KB", body(padding: 3_300))] {
            var rates: [(core: Double, wall: Double)] = []
            for _ in 0..<3 { rates.append(try round(body, given)) }
            print(
                "  \(name): \(grouped(rates.map(\.core).median)) sends a core-second of the gateway, \(grouped(rates.map(\.wall).median)) a second seen"
            )
        }
        try pace(given)
        try visible(given)
    }

    private static func stand(_ given: String?) throws -> GatewayStand {
        try GatewayStand(role: .send, types: [try type()], given: given)
    }

    private static func round(_ body: String, _ given: String?) throws -> (core: Double, wall: Double) {
        let (stand, requests) = (try stand(given), 60_000)
        let posted = try stand.post(body, to: "/v1/sends", requests: requests, connections: connections)
        return (Double(requests) / stand.end(), Double(requests) / posted.seconds)
    }

    /// Measures latency at the promised rate, evenly spread.
    private static func pace(_ given: String?) throws {
        let stand = try stand(given)
        let perConnection = promisedPerSecond / 50
        let posted = try stand.post(
            body(padding: 420), to: "/v1/sends", requests: 20 * promisedPerSecond, connections: 50,
            options: ["--rps", "\(perConnection)"])
        let used = stand.end() / posted.seconds
        func milliseconds(_ share: Double) -> String { String(format: "%.1f", posted.percentile(share)) }
        print(
            "  at \(grouped(Double(promisedPerSecond))) a second, \(String(format: "%.2f", used)) cores of the gateway: 50 % within \(milliseconds(0.5)) ms, 95 % \(milliseconds(0.95)), 99 % \(milliseconds(0.99)), 99.9 % \(milliseconds(0.999)), the longest \(milliseconds(1))"
        )
    }

    private static func visible(_ given: String?) throws {
        let stand = try stand(given)
        let latencies = try VisibleJobs(stand).measure()
        _ = stand.end()
        let flush = given == nil ? "; this broker does not sync" : ""
        print("  one user's updates, from the 202 to the visible job: \(latencies)\(flush)")
    }

    private static func type() throws -> ActivityType {
        var type = ActivityType(name: "MatchAttributes")
        let schema = #"{"homeTeamScore":"int","awayTeamScore":"int","matchStatus":"string"}"#
        type.contentStateSchema = try JSONReader().read(Array(schema.utf8)) { ContentSchema(from: $0) }
        return type
    }

    /// Returns an update that is checked against the type's schema.
    private static func body(padding: Int) -> String {
        let status = String(repeating: "x", count: padding)
        return
            #"{"event":"update","groupId":"match-42","contentState":{"homeTeamScore":1,"awayTeamScore":0,"matchStatus":"\#(status)"},"alert":{"title":"Goal","body":"1:0"}}"#
    }
}
