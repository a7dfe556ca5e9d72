internal import Glibc
internal import Kafka
internal import LiveActivity
internal import Registry
internal import Store
internal import Telemetry

/// A measurement of a lane as fan-out uses it: restored from the topic's records, read in pages, and changed.
enum RegistryBenchmark {
    private static let targets = (restore: 200_000.0, scan: 3_000_000.0, privateMiB: 200)
    private static let now: Int64 = 1_763_640_000_000

    private struct Options {
        var tokens = 5_000_000
        var scans = 5
        var changes = 200_000
        var kafka = 1_000_000
        var brokers: [String]?

        init(_ arguments: [String]) throws {
            var arguments = arguments
            brokers = try Bootstrap.take(from: &arguments)
            var rest = arguments[...]
            while let option = rest.popFirst() {
                guard let value = rest.popFirst().flatMap({ Int($0) }), value >= 0 else {
                    throw BenchmarkFailure("\(option) needs a number")
                }
                switch option {
                case "--tokens": tokens = max(10, value)
                case "--scans": scans = max(1, value)
                case "--changes": changes = value
                case "--kafka": kafka = value
                default:
                    throw BenchmarkFailure(
                        "unknown option \(option); there are --tokens --scans --changes --kafka --bootstrap")
                }
            }
        }
    }

    static func run(_ arguments: [String]) throws {
        let options = try Options(arguments)
        let directory = try BenchmarkDirectory()
        print("registry: \(grouped(Double(options.tokens))) tokens in one lane, a fifth of them in one group")
        print("$ flotilla-bench registry --tokens \(options.tokens)")
        let rows = try RegistryRows(tokens: options.tokens, directory: directory.path)
        print("  \(grouped(Double(rows.count))) records, \(rows.bytes / rows.count) bytes each with key")
        let memory = PrivateMemory()
        let lane = try open(directory.path + "/lane")
        try restore(lane, rows)
        try scans(of: lane, rows: rows, options: options)
        try changes(of: lane, rows: rows, options: options)
        let peak = memory.stop()
        print("  private memory at most \(peak) MiB, \(targets.privateMiB) wanted")
        try lane.close()
        if options.kafka > 0 {
            try RegistryThroughKafka.run(
                rows, limit: options.kafka, directory: directory.path, given: options.brokers)
        }
    }

    static func open(_ path: String) throws -> Lane {
        try Lane(
            directory: path, partition: TopicPartition("registry", 0), origin: "bench",
            ageMaxMilliseconds: .max, now: .now(),
            boot: BootID.current(), log: .silent, metrics: LaneMetrics(Metrics()))
    }

    private static func restore(_ lane: Lane, _ rows: RegistryRows) throws {
        let restore = LaneRestore(lane: lane)
        let taking = try Usage.of {
            try rows.each { key, value, offset in try restore.add(key: key, value: value, offset: offset) }
        }
        let finishing = try Usage.of {
            try restore.finish(AppliedProgress(offset: Int64(rows.count), completeUntil: .now()))
        }
        let counts = try lane.rowCounts()
        guard counts.starts + counts.updates == rows.tokens else {
            throw BenchmarkFailure("the lane has \(counts.starts) starts and \(counts.updates) updates")
        }
        let seconds = taking.seconds + finishing.seconds
        line(
            "restore, decoding included", Double(rows.count) / seconds, target: targets.restore, unit: "rows")
        print("    taking \(tenth(taking.seconds)) s, writing \(tenth(finishing.seconds)) s")
        let core = taking.processorSeconds + finishing.processorSeconds
        print("    a core-second: \(grouped(Double(rows.count) / core)) rows")
        print(
            "  disk: \(lane.statistics.usedBytes / rows.tokens) bytes a token, indexes and profiles included")
    }

    private static func scans(of lane: Lane, rows: RegistryRows, options: Options) throws {
        func selection(_ tokens: TokenSelection.Tokens) -> TokenSelection {
            TokenSelection(app: "matchday", tokens: tokens, environments: [.production], now: now)
        }
        let group = selection(.updates(group: RegistryRows.bigGroup))
        try scan(
            "group of \(grouped(Double(rows.bigGroupTokens)))", of: lane, group, wanted: rows.bigGroupTokens,
            options: options)
        let everyone = selection(.starts(type: "MatchAttributes"))
        try scan("everyone's start tokens", of: lane, everyone, wanted: rows.tokens / 2, options: options)
        var tagged = everyone
        tagged.program = .anyTag(of: ["tag3"])
        try scan(
            "a tag's start tokens, rows looked at", of: lane, tagged, wanted: nil, options: options,
            of: rows.tokens / 2)
    }

    private static func scan(
        _ name: String, of lane: Lane, _ selection: TokenSelection, wanted: Int?, options: Options,
        of looked: Int? = nil
    ) throws {
        var page = TokenPage()
        var rates: [Double] = []
        var coreRates: [Double] = []
        for run in 0..<options.scans {
            var found = 0
            var sum = 0
            let usage = try Usage.of {
                var cursor: PageCursor? = PageCursor(startingAt: UInt16(truncatingIfNeeded: run * 7919))
                while let next = cursor {
                    cursor = try lane.fillPage(with: selection, from: next, into: &page)
                    found += page.count
                    for index in 0..<page.count { sum &+= page[index].token.count }
                }
            }
            if let wanted, found != wanted { throw BenchmarkFailure("\(name): \(found) rows, not \(wanted)") }
            if found == 0 || sum == 0 { throw BenchmarkFailure("\(name): nothing") }
            rates.append(Double(looked ?? found) / usage.seconds)
            coreRates.append(Double(looked ?? found) / usage.processorSeconds)
        }
        line(name, rates.median, target: targets.scan, unit: "rows")
        print("    a core-second: \(grouped(coreRates.median)) rows")
    }

    /// Measures the work of a running lane: rows change, 1,000 in a transaction.
    private static func changes(of lane: Lane, rows: RegistryRows, options: Options) throws {
        var taken = 0
        let usage = try Usage.of {
            try rows.each(options.changes) { key, value, _ in
                // Every second change is a deletion.
                try lane.apply(
                    key: key, value: taken % 2 == 0 ? nil : value, offset: Int64(rows.count + taken))
                taken += 1
                if taken % 1000 == 0 {
                    try lane.commit(AppliedProgress(offset: Int64(rows.count + taken), completeUntil: .now()))
                }
            }
        }
        print("  changes, 1,000 in a transaction: \(grouped(Double(taken) / usage.seconds)) rows a second")
    }

    static func line(_ name: String, _ rate: Double, target: Double, unit: String) {
        let ratio = (rate / target * 100).rounded() / 100
        print("  \(name): \(grouped(rate)) \(unit) a second, \(ratio) of the \(grouped(target)) wanted")
    }

    private static func tenth(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }
}
