internal import Glibc
internal import Identifiers
internal import Kafka
internal import Lifecycle
internal import ProcessTesting
internal import Registry
internal import Store
internal import Telemetry

/// A measurement of one lane of the registry, the LMDB database of a partition, as fan-out uses it: restored from
/// the records of the topic, read in pages, and changed.
enum RegistryBenchmark {
    /// The rates are in rows per second.
    static let goals = (restoreRate: 200_000.0, scanRate: 3_000_000.0, privateMiB: 200)
    /// The time of the scans, in milliseconds since 1970: after the registration of all tokens, before their end.
    private static let now: Int64 = 1_763_640_000_000

    private struct Options {
        var tokens = 5_000_000
        var scans = 5
        var changes = 200_000
        /// The records that are also restored through Kafka. 0 skips this.
        var kafkaRows = 1_000_000
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            brokers = try reader.removeBrokers()
            while let (name, number) = try reader.nextNumber() {
                switch name {
                case "--tokens": tokens = max(10, number)
                case "--scans": scans = max(1, number)
                case "--changes": changes = number
                case "--kafka": kafkaRows = number
                default:
                    throw BenchmarkFailure(
                        "unknown option \(name); there are --tokens --scans --changes --kafka --bootstrap")
                }
            }
        }
    }

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let directory = try BenchmarkDirectory()
        print("registry: \(grouped(Double(options.tokens))) tokens in one lane, a fifth of them in one group")
        print("$ flotilla-bench registry --tokens \(options.tokens)")
        let rows = try RegistryRows(tokens: options.tokens, directory: directory.path)
        print("  \(grouped(Double(rows.count))) records, \(rows.byteCount / rows.count) bytes each with key")
        let memory = PrivateMemorySampler()
        let lane = try openLane(at: directory.path + "/lane")
        try measureRestore(of: lane, from: rows)
        try measureScans(of: lane, rows: rows, options: options)
        try measureChanges(of: lane, rows: rows, options: options)
        let peakMiB = memory.stop()
        print("  private memory at most \(peakMiB) MiB, \(goals.privateMiB) wanted")
        try lane.close()
        if options.kafkaRows > 0 {
            try RegistryKafkaBenchmark.run(
                rows: rows, limit: options.kafkaRows, directory: directory.path, brokers: options.brokers)
        }
    }

    static func openLane(at path: String) throws -> Lane {
        try Lane(
            directory: path, partition: TopicPartition("registry", 0), origin: "bench",
            ageMaxMilliseconds: .max, now: .now(),
            boot: BootID.current(), log: .silent, metrics: LaneMetrics(Metrics()))
    }

    private static func measureRestore(of lane: Lane, from rows: RegistryRows) throws {
        let restore = LaneRestore(lane: lane)
        let adding = try Usage.measure {
            try rows.forEachRow { key, value, offset in
                try restore.add(key: key, value: value, offset: offset)
            }
        }
        let finishing = try Usage.measure {
            try restore.finish(AppliedProgress(offset: Int64(rows.count), completeUntil: .now()))
        }
        let counts = try lane.rowCounts()
        guard counts.starts + counts.updates == rows.tokens else {
            throw BenchmarkFailure("the lane has \(counts.starts) starts and \(counts.updates) updates")
        }
        let seconds = adding.seconds + finishing.seconds
        printRate(
            name: "restore, decoding included", rate: Double(rows.count) / seconds, target: goals.restoreRate,
            unit: "rows")
        print("    taking \(oneDecimal(adding.seconds)) s, writing \(oneDecimal(finishing.seconds)) s")
        let processorSeconds = adding.processorSeconds + finishing.processorSeconds
        print("    a core-second: \(grouped(Double(rows.count) / processorSeconds)) rows")
        print(
            "  disk: \(lane.sizes.usedBytes / rows.tokens) bytes a token, indexes and profiles included")
    }

    private static func measureScans(of lane: Lane, rows: RegistryRows, options: Options) throws {
        func selection(of tokens: TokenSelection.Tokens) -> TokenSelection {
            TokenSelection(app: "matchday", tokens: tokens, environments: [.production], now: now)
        }
        let group = selection(of: .updates(group: RegistryRows.largeGroup))
        try measureScan(
            name: "group of \(grouped(Double(rows.largeGroupTokens)))", lane: lane, selection: group,
            expected: rows.largeGroupTokens,
            options: options)
        let everyone = selection(of: .starts(type: "MatchAttributes"))
        try measureScan(
            name: "everyone's start tokens", lane: lane, selection: everyone, expected: rows.tokens / 2,
            options: options)
        var tagged = everyone
        tagged.program = .anyTag(of: ["tag3"])
        try measureScan(
            name: "a tag's start tokens, rows looked at", lane: lane, selection: tagged, expected: nil,
            options: options,
            visited: rows.tokens / 2)
    }

    /// Reads all pages of a selection several times, each time from another bucket.
    ///
    /// - Parameters:
    ///   - expected: the number of rows that must be found; nil means at least one.
    ///   - visited: the number of rows that the rate counts; nil means the rows found.
    private static func measureScan(
        name: String, lane: Lane, selection: TokenSelection, expected: Int?, options: Options,
        visited: Int? = nil
    ) throws {
        var page = TokenPage()
        var rates: [Double] = []
        var coreRates: [Double] = []
        for run in 0..<options.scans {
            var rowsFound = 0
            var sum = 0
            let usage = try Usage.measure {
                var cursor: PageCursor? = PageCursor(startingAt: UInt16(truncatingIfNeeded: run * 7919))
                while let next = cursor {
                    cursor = try lane.fillPage(with: selection, from: next, into: &page)
                    rowsFound += page.count
                    for index in 0..<page.count { sum &+= page[index].token.count }
                }
            }
            if let expected, rowsFound != expected {
                throw BenchmarkFailure("\(name): \(rowsFound) rows, not \(expected)")
            }
            if rowsFound == 0 || sum == 0 { throw BenchmarkFailure("\(name): nothing") }
            let rowsCounted = Double(visited ?? rowsFound)
            rates.append(rowsCounted / usage.seconds)
            coreRates.append(rowsCounted / usage.processorSeconds)
        }
        printRate(name: name, rate: rates.median, target: goals.scanRate, unit: "rows")
        print("    a core-second: \(grouped(coreRates.median)) rows")
    }

    /// Measures the work of a running lane: rows change, 1,000 in a transaction.
    private static func measureChanges(of lane: Lane, rows: RegistryRows, options: Options) throws {
        var changed = 0
        let usage = try Usage.measure {
            try rows.forEachRow(limit: options.changes) { key, value, _ in
                // Every second change is a deletion.
                try lane.apply(
                    key: key, value: changed % 2 == 0 ? nil : value, offset: Int64(rows.count + changed))
                changed += 1
                if changed % 1000 == 0 {
                    try lane.commit(
                        AppliedProgress(offset: Int64(rows.count + changed), completeUntil: .now()))
                }
            }
        }
        print("  changes, 1,000 in a transaction: \(grouped(Double(changed) / usage.seconds)) rows a second")
    }

    static func printRate(name: String, rate: Double, target: Double, unit: String) {
        let ratio = (rate / target * 100).rounded() / 100
        print("  \(name): \(grouped(rate)) \(unit) a second, \(ratio) of the \(grouped(target)) wanted")
    }

    private static func oneDecimal(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }
}
