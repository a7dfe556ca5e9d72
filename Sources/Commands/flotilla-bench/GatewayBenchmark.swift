internal import CatalogRecords
internal import Foundation

/// A measurement of reports through the gateway, from the HTTP client to Kafka's acknowledgement. Broker and
/// gateway are real and separate processes, or a given cluster takes the broker's place. h2load plays the
/// phones.
enum GatewayBenchmark {
    private static let connections = 64

    static func run(arguments: [String]) throws {
        var arguments = arguments
        let brokers = try BootstrapOption.removeBrokers(from: &arguments)?.joined(separator: ",")
        if let unknown = arguments.first { throw BenchmarkFailure("\(unknown) is not known") }
        let cluster = brokers ?? "the embedded broker"
        print("reports through the gateway by HTTP/1.1, \(connections) connections, into \(cluster)")
        for (perBody, requests) in [(1, 100_000), (20, 20_000), (500, 2_000)] {
            var rates: [(core: Double, wall: Double)] = []
            for _ in 0..<3 {
                rates.append(try measureRound(reportsPerBody: perBody, requests: requests, brokers: brokers))
            }
            let core = grouped(rates.map(\.core).median)
            let wall = grouped(rates.map(\.wall).median)
            print("  \(perBody) a body: \(core) reports a core-second of the gateway, \(wall) a second seen")
        }
    }

    private static func measureRound(
        reportsPerBody: Int, requests: Int, brokers given: String?
    ) throws -> (core: Double, wall: Double) {
        let stand = try GatewayTestBed(role: .report, brokers: given)
        let posted = try stand.post(
            makeBody(reportCount: reportsPerBody), to: "/v1/reports", requests: requests,
            connections: connections)
        let reports = Double(reportsPerBody * requests)
        return (reports / stand.tearDown(), reports / posted.seconds)
    }

    private static func makeBody(reportCount count: Int) -> String {
        let token = String(repeating: "c0ffee42", count: 20)
        let reports = (0..<count).map { number in
            """
            {"environment":"production","installationId":"0f6f4b8e-9d0a-4a53-\(number)","kind":"startToken",\
            "attributesType":"MatchAttributes","token":"\(token)","os":"18.1","eventTime":1763600000000}
            """
        }
        return count == 1 ? reports[0] : "[\(reports.joined(separator: ","))]"
    }
}
