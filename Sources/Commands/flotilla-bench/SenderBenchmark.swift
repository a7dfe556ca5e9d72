internal import IngestTesting
internal import Jobs

/// A comparison of the sender with `h2load`, on the same server in the same run. The sender reads jobs from Kafka,
/// pushes over TLS and HTTP/2, and writes receipts to Kafka; h2load only pushes. Both run on processor 1, in turn.
/// Broker, server and this process, which writes jobs and reads receipts, run on processor 0.
enum SenderBenchmark {
    /// The wanted processor time of the sender with all its work, as a share of h2load's.
    static let processorShareWanted = 0.85
    /// The limit on the private memory of the sender's process.
    static let memoryMiBMax = 200

    static func run(arguments: [String]) throws {
        let options = try SenderBenchmarkOptions(parsing: arguments)
        try PinnedProcess.pinThisProcess(to: 0)
        let sender = try SenderUnderTest(options: options)
        if options.backlog > 0 { return try sender.measureMemory(backlog: options.backlog) }
        print(
            "sender: \(grouped(Double(options.jobs))) jobs in sheets of \(options.jobsPerSheet), bodies of "
                + "\(options.bodyBytes) bytes, 12 lanes, TLS 1.3, median [range] of \(options.rounds) rounds;\n"
                + "processor seconds per 100,000 pushes of the whole process, Kafka's client included")
        for _ in 0..<options.rounds { try sender.runRound() }
        try sender.printReport()
        try sender.measureLatency()
    }
}

/// The options of `flotilla-bench sender`.
struct SenderBenchmarkOptions {
    var jobs = 500_000
    var rounds = 5
    var bodyBytes = 600
    var jobsPerSheet = 256
    /// If above 0, only memory is measured, with this many waiting jobs.
    var backlog = 0
    /// A running cluster to use. Without it the benchmark starts a broker.
    var brokers: [String]?

    init(parsing arguments: [String]) throws {
        var reader = OptionReader(arguments)
        brokers = try reader.removeBrokers()
        while let (name, number) = try reader.nextNumberAboveZero() {
            switch name {
            case "--jobs": jobs = number
            case "--rounds": rounds = number
            case "--body": bodyBytes = number
            case "--per-sheet": jobsPerSheet = number
            case "--backlog": backlog = number
            default: throw BenchmarkFailure.unknownOption(name)
            }
        }
        guard jobsPerSheet <= SheetHead.jobsMax else {
            throw BenchmarkFailure("a sheet has at most \(SheetHead.jobsMax) jobs")
        }
    }
}
