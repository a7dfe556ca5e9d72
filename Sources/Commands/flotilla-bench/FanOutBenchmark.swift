internal import Foundation
internal import IngestTesting
internal import Topics

/// A measurement of fan-out: planner and expander, as in production, read sends from Kafka and write jobs to
/// Kafka. The load is one group of all phones. The time until the jobs of a send to one user are visible is
/// measured alone and while sends to all are in progress. With `--small` there are as many groups as phones.
enum FanOutBenchmark {
    struct Options {
        var tokens = 1_000_000
        var rounds = 3
        var bodySizes = [600, 4000]
        var jobsPerSheet = 256
        /// The number of measured sends to one user.
        var singleSends = 200
        /// With `--small`, the number of groups of one phone each. 0 means one big group.
        var smallGroups = 0
        var lanes = TopicLayout.lanesDefault
        /// With `--small`, the updates per second, and the time in which they are sent.
        var rate = 5000
        var seconds = 60
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            brokers = try reader.removeBrokers()
            while let (name, number) = try reader.nextNumberAboveZero() {
                switch name {
                case "--tokens": tokens = number
                case "--rounds": rounds = number
                case "--body": bodySizes = [number]
                case "--per-sheet": jobsPerSheet = number
                case "--singles": singleSends = number
                case "--small": smallGroups = number
                case "--lanes": lanes = number
                case "--rate": rate = number
                case "--seconds": seconds = number
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
        }
    }

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let testBed = try FanOutTestBed(brokers: options.brokers, lanes: options.lanes)
        defer { try? testBed.tearDown() }
        if options.smallGroups > 0 {
            return try SmallGroupsBenchmark(testBed: testBed, options: options).run()
        }
        print(
            "fanout: \(grouped(Double(options.tokens))) tokens, \(testBed.bed.layout.lanes) lanes, sheets of "
                + "\(options.jobsPerSheet); the disk syncs in "
                + String(format: "%.1f ms", try DiskSync.measureMilliseconds()))
        let benchmark = try LargeGroupBenchmark(testBed: testBed, options: options)
        try benchmark.run()
    }
}
