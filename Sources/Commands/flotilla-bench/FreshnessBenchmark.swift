/// A test with one group that is updated every second while APNs can take only a part of the pushes. The first
/// run has conflation: all phones must stay near the newest state. The second run has none and falls behind more
/// with each second.
enum FreshnessBenchmark {
    struct Options {
        var phones = 200_000
        var seconds = 60
        /// The delay of an answer from APNs. At most 1,000 pushes are open at a time, so the delay sets the rate.
        var answerDelayMilliseconds = 20
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            brokers = try reader.removeBrokers()
            while let (name, number) = try reader.nextNumberAboveZero() {
                switch name {
                case "--phones": phones = number
                case "--seconds": seconds = number
                case "--delay-milliseconds": answerDelayMilliseconds = number
                default: throw BenchmarkFailure("\(name) is not known")
                }
            }
        }
    }

    /// The limit on the time in which a phone gets nothing, in passes.
    static let gapPassesMax = 3.0

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let cluster = try BenchmarkCluster(brokers: options.brokers, orStarting: .broker)
        defer { cluster.stop() }
        let brokers = cluster.brokers
        print(
            "freshness: \(grouped(Double(options.phones))) phones, an update every second for \(options.seconds) s, "
                + "answers after \(options.answerDelayMilliseconds) ms")
        let conflated = try runBlocking {
            try await FreshnessRun(options: options, brokers: brokers, conflates: true).run()
        }
        print("  newest wins: \(conflated.summary)")
        let plain = try runBlocking {
            try await FreshnessRun(options: options, brokers: brokers, conflates: false).run()
        }
        print("  without conflation: \(plain.summary)")
        let allGotLastUpdate =
            conflated.unfinishedPhones == 0 && conflated.newestAfterSeconds <= conflated.passSeconds
        let noPhoneWasLeftOut = conflated.longestGapPasses <= gapPassesMax
        let conflationHelps = plain.behindSecondsMean > conflated.behindSecondsMean
        guard allGotLastUpdate, noPhoneWasLeftOut, conflationHelps else {
            throw BenchmarkFailure("a phone is too far behind, or conflation makes no difference")
        }
    }
}
