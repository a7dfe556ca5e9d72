/// A test with one group that is updated every second while APNs can take only a part of the pushes. The first run has
/// conflation: a newer update replaces jobs that wait, so all phones must stay near the newest state. The second run
/// has no conflation, so the phones fall behind more with each second.
enum FreshnessBenchmark {
    struct Options {
        var phones = 200_000
        /// The time for which updates are written, one each second.
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
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
        }
    }

    /// The limit on the time without a push to a phone, in passes. A pass is the time that APNs needs for one push to
    /// every phone.
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
        print("  with conflation: \(conflated.summary)")
        let plain = try runBlocking {
            try await FreshnessRun(options: options, brokers: brokers, conflates: false).run()
        }
        print("  without conflation: \(plain.summary)")
        try check(conflated: conflated, plain: plain)
    }

    /// Throws if conflation does not do what it promises.
    private static func check(conflated: Freshness, plain: Freshness) throws {
        guard conflated.unfinishedPhones == 0, conflated.newestAfterSeconds <= conflated.passSeconds else {
            throw BenchmarkFailure("with conflation, not all phones had the last update within a pass")
        }
        guard conflated.longestGapPasses <= gapPassesMax else {
            throw BenchmarkFailure(
                "with conflation, a phone got no push for more than \(gapPassesMax) passes")
        }
        guard plain.behindSecondsMean > conflated.behindSecondsMean else {
            throw BenchmarkFailure("conflation does not keep the phones nearer to the newest state")
        }
    }
}
