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
    // What is not private is also for `RegistryKafkaBenchmark`.

    // The targets. Rates are in rows per second.
    static let restoreRateTarget = 200_000.0
    private static let scanRateTarget = 3_000_000.0
    private static let privateMiBTarget = 200
    private static let changesPerTransaction = 1_000
    /// The distance between the first buckets of two scans: a prime, so that the scans begin all over the lane.
    private static let scanStartStep = 7_919
    /// The time of the scans, in milliseconds since 1970: after the registration of all tokens, before their end.
    private static let now: Int64 = 1_763_640_000_000

    private struct Options {
        var tokenCount = 5_000_000
        /// The number of repetitions of each scan.
        var rounds = 5
        var changes = 200_000
        /// The number of records that are also restored through Kafka. 0 skips this.
        var kafkaRows = 1_000_000
        /// A running cluster to use. Without it the benchmark starts a broker.
        var brokers: [String]?

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            brokers = try reader.removeBrokers()
            while let (name, number) = try reader.nextNumber() {
                switch name {
                case "--tokens": tokenCount = number
                case "--scans": rounds = number
                case "--changes": changes = number
                case "--kafka": kafkaRows = number
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
            guard tokenCount >= RegistryRows.tokensMin, rounds > 0, changes >= 2 else {
                throw BenchmarkFailure(
                    "--tokens must be \(RegistryRows.tokensMin) or more, --scans 1 or more, and --changes 2 or more"
                )
            }
        }

        /// The options as a person writes them.
        var text: String {
            "--tokens \(tokenCount) --scans \(rounds) --changes \(changes) --kafka \(kafkaRows)"
                + (brokers.map { " --bootstrap \($0.joined(separator: ","))" } ?? "")
        }
    }

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        let directory = try BenchmarkDirectory()
        let rows = try RegistryRows(tokenCount: options.tokenCount, directory: directory.path)
        print(
            "registry: \(grouped(Double(rows.tokenCount))) tokens in one lane, "
                + "\(grouped(Double(rows.largeGroupTokenCount))) of them in one group")
        print("$ flotilla-bench registry \(options.text)")
        print("  \(grouped(Double(rows.count))) records, \(rows.byteCount / rows.count) bytes each with key")
        let memory = PrivateMemorySampler()
        let lane = try openLane(at: directory.path + "/lane")
        try measureRestore(of: lane, from: rows)
        try measureScans(of: lane, rows: rows, options: options)
        try measureChanges(of: lane, rows: rows, options: options)
        let peakMiB = memory.stop()
        print("  private memory at most \(peakMiB) MiB, \(privateMiBTarget) wanted")
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
        guard counts.starts + counts.updates == rows.tokenCount else {
            throw BenchmarkFailure("the lane has \(counts.starts) starts and \(counts.updates) updates")
        }
        let seconds = adding.seconds + finishing.seconds
        printRate(
            name: "restore, decoding included", rate: Double(rows.count) / seconds, target: restoreRateTarget,
            unit: "rows")
        print("    taking \(oneDecimal(adding.seconds)) s, writing \(oneDecimal(finishing.seconds)) s")
        let processorSeconds = adding.processorSeconds + finishing.processorSeconds
        print("    a core-second: \(grouped(Double(rows.count) / processorSeconds)) rows")
        print(
            "  disk: \(lane.sizes.usedBytes / rows.tokenCount) bytes a token, indexes and profiles included")
    }

    private static func measureScans(of lane: Lane, rows: RegistryRows, options: Options) throws {
        func selection(of tokens: TokenSelection.Tokens) -> TokenSelection {
            TokenSelection(app: "matchday", tokens: tokens, environments: [.production], now: now)
        }
        let group = selection(of: .updates(group: RegistryRows.largeGroup))
        try measureScan(
            name: "group of \(grouped(Double(rows.largeGroupTokenCount)))", lane: lane, selection: group,
            counting: .found(rows.largeGroupTokenCount), rounds: options.rounds)
        let everyone = selection(of: .starts(type: "MatchAttributes"))
        try measureScan(
            name: "everyone's start tokens", lane: lane, selection: everyone,
            counting: .found(rows.tokenCount / 2), rounds: options.rounds)
        // A tag has no index, so the scan visits the start tokens of everyone.
        var tagged = everyone
        tagged.program = .anyTag(of: ["tag3"])
        try measureScan(
            name: "a tag's start tokens, rows looked at", lane: lane, selection: tagged,
            counting: .visited(rows.tokenCount / 2), rounds: options.rounds)
    }

    /// The rows that the rate of a scan counts. A number of found rows is also checked.
    private enum CountedRows {
        /// The rows that the scan finds, which must be this many.
        case found(Int)
        /// The rows that the scan visits, of which it finds some.
        case visited(Int)

        var count: Int {
            switch self {
            case .found(let count), .visited(let count): count
            }
        }
    }

    /// Reads all pages of a selection several times, each time from another bucket.
    private static func measureScan(
        name: String, lane: Lane, selection: TokenSelection, counting rows: CountedRows, rounds: Int
    ) throws {
        var page = TokenPage()
        var rates: [Double] = []
        var coreRates: [Double] = []
        for round in 0..<rounds {
            var rowsFound = 0
            // Each token is read, as the expander does for a sheet.
            var tokenBytes = 0
            let usage = try Usage.measure {
                var cursor: PageCursor? = PageCursor(
                    startingAt: UInt16(truncatingIfNeeded: round * scanStartStep))
                while let next = cursor {
                    cursor = try lane.fillPage(with: selection, from: next, into: &page)
                    rowsFound += page.count
                    for index in 0..<page.count { tokenBytes += page[index].token.count }
                }
            }
            if case .found(let expected) = rows, rowsFound != expected {
                throw BenchmarkFailure("\(name): \(rowsFound) rows, not \(expected)")
            }
            if rowsFound == 0 || tokenBytes == 0 { throw BenchmarkFailure("\(name): nothing was found") }
            rates.append(Double(rows.count) / usage.seconds)
            coreRates.append(Double(rows.count) / usage.processorSeconds)
        }
        printRate(name: name, rate: rates.median, target: scanRateTarget, unit: "rows")
        print("    a core-second: \(grouped(coreRates.median)) rows")
    }

    /// Measures the work of a running lane: half of the changes delete a row, and the others put the same rows again.
    private static func measureChanges(of lane: Lane, rows: RegistryRows, options: Options) throws {
        var changeCount = 0
        func commit() throws {
            try lane.commit(
                AppliedProgress(offset: Int64(rows.count + changeCount), completeUntil: .now()))
        }
        func apply(key: Span<UInt8>, value: Span<UInt8>?) throws {
            try lane.apply(key: key, value: value, offset: Int64(rows.count + changeCount))
            changeCount += 1
            if changeCount % changesPerTransaction == 0 { try commit() }
        }
        let usage = try Usage.measure {
            try rows.forEachRow(limit: options.changes / 2) { key, _, _ in try apply(key: key, value: nil) }
            try rows.forEachRow(limit: options.changes / 2) { key, value, _ in
                try apply(key: key, value: value)
            }
            try commit()
        }
        print(
            "  \(grouped(Double(changeCount))) changes, \(grouped(Double(changesPerTransaction))) in a transaction: "
                + "\(grouped(Double(changeCount) / usage.seconds)) rows a second")
    }

    static func printRate(name: String, rate: Double, target: Double, unit: String) {
        let ratio = (rate / target * 100).rounded() / 100
        print("  \(name): \(grouped(rate)) \(unit) a second, \(ratio) of the \(grouped(target)) wanted")
    }

    private static func oneDecimal(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }
}
