internal import CatalogRecords
internal import Foundation

/// A measurement of reports through the gateway, from the HTTP client to Kafka's acknowledgement. Gateway and
/// broker are separate processes; `--bootstrap` replaces the broker with a running cluster. h2load plays the
/// phones.
enum GatewayBenchmark {
    private static let connections = 64
    private static let rounds = 3

    static func run(arguments: [String]) throws {
        var reader = OptionReader(arguments)
        let brokers = try reader.removeBrokers()?.joined(separator: ",")
        if let name = reader.nextName() { throw BenchmarkFailure.unknownOption(name) }
        let cluster = brokers ?? "the embedded broker"
        print("reports through the gateway by HTTP/1.1, \(connections) connections, into \(cluster)")
        for (reportsPerBody, requests) in [(1, 100_000), (20, 20_000), (500, 2_000)] {
            var rates: [WorkRate] = []
            for _ in 0..<rounds {
                rates.append(
                    try measureRound(reportsPerBody: reportsPerBody, requests: requests, brokers: brokers))
            }
            let perCoreSecond = grouped(rates.map(\.perCoreSecond).median)
            let perSecond = grouped(rates.map(\.perSecond).median)
            print(
                "  \(reportsPerBody) a body: \(perCoreSecond) reports per second of the gateway's processor time, "
                    + "\(perSecond) per second at the client"
            )
        }
    }

    /// Returns the rate of reports, by the client's clock and by the gateway's processor time.
    private static func measureRound(
        reportsPerBody: Int, requests: Int, brokers: String?
    ) throws -> WorkRate {
        let testBed = try GatewayTestBed(role: .report, brokers: brokers)
        let posted = try testBed.post(
            makeBody(reportCount: reportsPerBody), to: "/v1/reports", requests: requests,
            connections: connections)
        return WorkRate(
            count: Double(reportsPerBody * requests), seconds: posted.seconds,
            processorSeconds: testBed.tearDown())
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
