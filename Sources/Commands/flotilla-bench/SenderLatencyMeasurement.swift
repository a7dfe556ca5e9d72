internal import Glibc
internal import Jobs
internal import Lifecycle
internal import SenderTesting
internal import Topics

/// A measurement of the time from a written job to the receipt of its answer, while jobs are written at a steady rate.
/// Most jobs are in full sheets. Beside them, updates to one user are written, one job every few milliseconds.
final class SenderLatencyMeasurement {
    private static let durationSeconds = 20.0
    /// The interval at which jobs are written and receipts are read.
    private static let intervalMilliseconds = 5
    /// The wait for the last receipts.
    private static let receiptWaitMillisecondsMax = 60_000

    private let load: JobLoad
    private let watch: ReceiptWatcher
    private let jobsPerSheet: Int
    private let jobsPerSecond: Double

    private var writtenSheetJobs = 0
    /// The ids of the updates to one user.
    private var singleSends: Set<String> = []
    private(set) var sheetJobs = SenderReceiptTally()
    private(set) var singleJobs = SenderReceiptTally()

    init(load: JobLoad, watch: ReceiptWatcher, jobsPerSheet: Int, jobsPerSecond: Double) {
        self.load = load
        self.watch = watch
        self.jobsPerSheet = jobsPerSheet
        self.jobsPerSecond = jobsPerSecond
    }

    /// Measures for 20 s. The results are in `sheetJobs` and `singleJobs`.
    func run() throws {
        let start = Instant.now()
        var elapsed = 0.0
        while elapsed < Self.durationSeconds {
            writeSheets(upToSeconds: elapsed)
            writeSingleJob()
            pollReceipts(waitMilliseconds: 0)
            usleep(UInt32(Self.intervalMilliseconds) * 1000)
            elapsed = Instant.now().seconds(since: start)
        }
        guard load.finish() else { throw BenchmarkFailure("the jobs were not stored") }
        try waitForReceipts()
    }

    /// Writes the sheets that the rate demands in the seconds since the start.
    private func writeSheets(upToSeconds elapsed: Double) {
        while Double(writtenSheetJobs) < elapsed * jobsPerSecond {
            let phones = writtenSheetJobs..<writtenSheetJobs + jobsPerSheet
            load.write(load.makeUpdateHead(of: "latency-\(writtenSheetJobs)"), to: phones)
            writtenSheetJobs = phones.upperBound
        }
    }

    private func writeSingleJob() {
        let head = load.makeUpdateHead(of: "single-\(singleSends.count)")
        singleSends.insert(head.send)
        load.write(head, to: writtenSheetJobs..<writtenSheetJobs + 1, topic: .jobsUrgent)
    }

    private func pollReceipts(waitMilliseconds: Int32) {
        watch.poll(waitMilliseconds: waitMilliseconds) { receipt in
            if singleSends.contains(receipt.send) {
                singleJobs.add(receipt)
            } else {
                sheetJobs.add(receipt)
            }
        }
    }

    private func waitForReceipts() throws {
        let deadline = Instant.now().advanced(byMilliseconds: Self.receiptWaitMillisecondsMax)
        while sheetJobs.acceptedCount < writtenSheetJobs || singleJobs.acceptedCount < singleSends.count {
            guard Instant.now() < deadline else { throw BenchmarkFailure("receipts are missing") }
            pollReceipts(waitMilliseconds: 10)
        }
    }
}
