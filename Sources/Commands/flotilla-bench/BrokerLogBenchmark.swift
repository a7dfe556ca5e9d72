internal import Broker
internal import Glibc
internal import Telemetry

/// A measurement of one partition's log without the network: appends with checksum and bookkeeping, reads that
/// check the checksum again, and a start after a kill. The same run also measures the checksum and the disk calls
/// alone.
enum BrokerLogBenchmark {
    static func run(arguments: [String]) throws {
        let options = try Options(parsing: arguments)
        print(
            "broker-log: \(options.mebibytes) MiB of 1,000-byte records in batches of \(options.recordsPerBatch), not synced"
        )
        print(
            "$ flotilla-bench broker-log --mib \(options.mebibytes) --records \(options.recordsPerBatch) "
                + "--runs \(options.runs) --dir \(options.directory)")
        var rates: [String: [Double]] = [:]
        for _ in 0..<options.runs {
            let directory = try BenchmarkDirectory(in: options.directory)
            for (name, rate) in try measureOnce(in: directory.path, options: options) {
                rates[name, default: []].append(rate)
            }
        }
        // The names begin with numbers, which order them.
        for (name, values) in rates.sorted(by: { $0.key < $1.key }) {
            print("  \(name): \(grouped(values.median)) MiB a second of processor time")
        }
        print("  peak memory \(Usage.peakMemoryMiB()) MiB")
    }

    private static func measureOnce(in path: String, options: Options) throws -> [(String, Double)] {
        let batch = makeBatch(recordCount: options.recordsPerBatch)
        let count = max(1, (options.mebibytes << 20) / batch.count)
        let mebibytes = Double(count * batch.count) / 1_048_576
        var rates: [(String, Double)] = []
        func measure(name: String, work: () throws -> Void) rethrows {
            rates.append((name, mebibytes / (try Usage.measure(work)).processorSeconds))
        }
        measure(name: "1 checksum alone") { for _ in 0..<count { computeChecksum(of: batch) } }
        try measure(name: "2 write alone") {
            try writeWithoutLog(at: path + "/plain", batch: batch, count: count)
        }
        unsafe unlink(path + "/plain")
        try measureLog(at: path, batch: batch, count: count, rates: &rates, mebibytes: mebibytes)
        return rates
    }

    private static func measureLog(
        at path: String, batch: [UInt8], count: Int, rates: inout [(String, Double)], mebibytes: Double
    ) throws {
        // At the end of this scope the store is closed, and the next one can lock the directory.
        do {
            let store = try TopicStore(path: path + "/data", flush: .os) {}
            let log = try store.create(
                "t", partitions: 1, settings: ["segment.bytes": "268435456", "max.message.bytes": "8388608"]
            ).partitions[0]
            let append = try Usage.measure {
                for _ in 0..<count {
                    _ = try unsafe batch.withUnsafeBytes { try unsafe log.append($0, now: .now()) }
                }
            }
            // A broker does this work on other threads beside the appends. It is not measured.
            while store.flusher.runOnce() { store.deliver(now: .now()) }
            rates.append(("3 append", mebibytes / append.processorSeconds))
            let read = try Usage.measure { try readAll(of: log) }
            rates.append(("4 read", mebibytes / read.processorSeconds))
            try removeAllButSegments(in: path + "/data/logs/t-0.1")
        }
        let start = try Usage.measure { _ = try TopicStore(path: path + "/data", flush: .os) {} }
        rates.append(("5 start after a kill, everything read", mebibytes / start.processorSeconds))
    }

    private static func readAll(of log: PartitionLog) throws {
        var writer = WireWriter(capacity: 1 << 20)
        var offset: Int64 = 0
        while offset < log.highWatermark {
            writer.reset(keeping: 2 << 20)
            let result = try log.read(from: offset, maxBytes: 1 << 20, committed: true, into: &writer)
            guard result.nextOffset > offset else { throw BenchmarkFailure("a read got stuck at \(offset)") }
            offset = result.nextOffset
        }
    }

    /// Removes the checkpoint and the summaries of closed segments. The next start then reads every batch, as after a
    /// kill before the first checkpoint.
    private static func removeAllButSegments(in directory: String) throws {
        for name in try Disk().names(in: directory) where !name.hasSuffix(".log") {
            try Disk().removeFile(at: directory + "/" + name)
        }
    }

    private static func writeWithoutLog(at path: String, batch: [UInt8], count: Int) throws {
        let disk = Disk()
        let file = try disk.open(path: path, create: true, writable: true)
        for index in 0..<count { try disk.write(batch, to: file, at: index * batch.count) }
    }

    @inline(never)
    private static func computeChecksum(of batch: [UInt8]) {
        // The result is used, so that the compiler keeps the computation.
        precondition(CRC32C.checksum(of: batch) != 1, "not the checksum of this batch")
    }

    private static func makeBatch(recordCount: Int) -> [UInt8] {
        var state: UInt64 = 7
        let value = (0..<1000).map { _ -> UInt8 in
            state = state &* 6_364_136_223_846_793_005 &+ 1
            return UInt8(truncatingIfNeeded: state >> 33)
        }
        return BatchBuilder.batch(
            (0..<recordCount).map { _ in NewRecord(key: nil, value: value) },
            time: WallTime.now().milliseconds)
    }

    private struct Options {
        var mebibytes = 512
        var recordsPerBatch = 16
        var runs = 3
        var directory = "/tmp"

        init(parsing arguments: [String]) throws {
            var reader = OptionReader(arguments)
            while let name = reader.nextName() {
                switch name {
                case "--mib": mebibytes = try reader.numberAboveZero(of: name)
                case "--records": recordsPerBatch = try reader.numberAboveZero(of: name)
                case "--runs": runs = try reader.numberAboveZero(of: name)
                case "--dir": directory = try reader.text(of: name)
                default: throw BenchmarkFailure.unknownOption(name)
                }
            }
        }
    }
}
