internal import Glibc
internal import Lifecycle
internal import Store
internal import Telemetry

/// A measurement of the LMDB store with the rows of a lane: written in random order, then scanned. A key has
/// an app, a group and a token of 32 to 80 bytes, as in `app/0042/…`; a value has 24 bytes. A fifth of the rows
/// are in one large group, the others in 4,000 small ones.
enum StoreBenchmark {
    private static let smallGroups = 4000
    /// The targets, in rows per second.
    private static let upsertRateTarget = 200_000.0
    private static let scanRateTarget = 10_000_000.0

    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        print("store: \(grouped(Double(options.rows))) upserts in random order,")
        print(
            "\(grouped(Double(options.rowsPerTransaction))) in a transaction, then scans by pages of 1,000; medians"
        )
        print(
            "$ flotilla-bench store --rows \(options.rows) --batch \(options.rowsPerTransaction) --runs \(options.runs)"
        )
        var inserts: [Usage] = []
        var updates: [Usage] = []
        var scans: [RowRate] = []
        var smallScans: [RowRate] = []
        var diskBytes = 0
        for run in 1...options.runs {
            let directory = try BenchmarkDirectory()
            let environment = try LMDBEnvironment(directory: directory.path, tables: ["registry"])
            inserts.append(try Usage.measure { try upsertRows(into: environment, options: options) })
            // The same rows again: the keys come from a fixed seed.
            updates.append(try Usage.measure { try upsertRows(into: environment, options: options) })
            scans += try (0..<5).map { _ in try scanRows(of: environment, groups: 0..<1) }
            smallScans += try (0..<5).map { _ in try scanRows(of: environment, groups: 1..<1001) }
            diskBytes = environment.sizes.usedBytes
            try environment.close()
            let rate = grouped(Double(options.rows) / inserts[run - 1].seconds)
            print("  run \(run): \(rate) inserts a second")
        }
        printRate(
            name: "insert", rates: inserts.map { RowRate(rows: options.rows, usage: $0) },
            target: upsertRateTarget)
        printRate(
            name: "upsert again", rates: updates.map { RowRate(rows: options.rows, usage: $0) },
            target: upsertRateTarget)
        printRate(
            name: "scan of one group of \(grouped(Double(options.rows / 5))) rows", rates: scans,
            target: scanRateTarget)
        printRate(name: "scan of 1,000 small groups", rates: smallScans, target: scanRateTarget)
        print(
            "  disk \(diskBytes >> 20) MiB, peak memory \(Usage.peakMemoryMiB()) MiB (the map's pages included)"
        )
    }

    /// Rows per second, and rows per second of one core. On a busy machine only the second figure is
    /// repeatable.
    private struct RowRate {
        let perSecond: Double
        let perCoreSecond: Double

        init(rows: Int, usage: Usage) {
            perSecond = Double(rows) / usage.seconds
            perCoreSecond = Double(rows) / usage.processorSeconds
        }
    }

    private static func printRate(name: String, rates: [RowRate], target: Double) {
        let rate = rates.map(\.perSecond).median
        let ratio = (rate / target * 100).rounded() / 100
        print("  \(name): \(grouped(rate)) rows a second, \(ratio) of the \(grouped(target)) wanted")
        print("    a core-second: \(grouped(rates.map(\.perCoreSecond).median)) rows")
    }

    private static func upsertRows(into environment: LMDBEnvironment, options: Options) throws {
        let table = environment.table(named: "registry")
        var random = SplitMix64(state: 1)
        var batch = RowBatch()
        var key: [UInt8] = []
        var written = 0
        while written < options.rows {
            batch.removeAll()
            for _ in 0..<min(options.rowsPerTransaction, options.rows - written) {
                let group = random.next() % 5 == 0 ? 0 : 1 + Int(random.next() % UInt64(smallGroups))
                key.removeAll(keepingCapacity: true)
                append(group: group, to: &key)
                random.appendBytes(count: 32 + Int(random.next() % 49), to: &key)
                batch.putWithChecksum(key.span, value: key.span.extracting(last: 24))
            }
            if options.isSorted { batch.sort() }
            try environment.write { transaction throws(StoreError) in
                try transaction.apply(batch, to: table)
                // Stages write their progress in the same transaction, so it is part of the cost.
                try transaction.setAppliedProgress(
                    AppliedProgress(offset: Int64(written), completeUntil: .now()), ofTopic: "registry",
                    partition: 0)
            }
            written += batch.count
        }
    }

    private static func scanRows(of environment: LMDBEnvironment, groups: Range<Int>) throws -> RowRate {
        let table = environment.table(named: "registry")
        var rows = 0
        // Every row is touched, so that the compiler cannot leave the reading out.
        var sum = 0
        let usage = try Usage.measure {
            for group in groups {
                var prefix: [UInt8] = []
                append(group: group, to: &prefix)
                var range = KeyRange(prefix: prefix)
                var hasMore = true
                while hasMore {
                    hasMore = try environment.read { view throws(StoreError) in
                        try view.readPage(of: table, range: &range, rowsMax: 1000) { key, value in
                            rows += 1
                            sum &+= Int(value[0]) &+ key.count
                        }
                    }
                }
            }
        }
        guard sum != 0 else { throw BenchmarkFailure("the scan found nothing") }
        return RowRate(rows: rows, usage: usage)
    }

    /// Appends the app and the group with four digits, such as `app/0042/`.
    private static func append(group: Int, to key: inout [UInt8]) {
        key += Array("app/".utf8)
        for divisor in [1000, 100, 10, 1] { key.append(UInt8(ascii: "0") + UInt8(group / divisor % 10)) }
        key.append(UInt8(ascii: "/"))
    }
}

extension StoreBenchmark {
    private struct Options {
        var rows = 5_000_000
        var rowsPerTransaction = 100_000
        var runs = 3
        /// Whether the rows of a transaction are written in the order of their keys.
        var isSorted = true

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            while let name = reader.nextName() {
                switch name {
                case "--unsorted": isSorted = false
                case "--rows": rows = try reader.numberAboveZero(of: name)
                case "--batch": rowsPerTransaction = try reader.numberAboveZero(of: name)
                case "--runs": runs = try reader.numberAboveZero(of: name)
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
        }
    }
}

extension SplitMix64 {
    /// Appends random bytes, eight from each number.
    mutating func appendBytes(count: Int, to bytes: inout [UInt8]) {
        var bytesLeft = count
        while bytesLeft > 0 {
            var word = next()
            for _ in 0..<min(8, bytesLeft) {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
            bytesLeft -= 8
        }
    }
}
