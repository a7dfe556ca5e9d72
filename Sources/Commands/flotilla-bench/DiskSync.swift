internal import Foundation
internal import Glibc
internal import Lifecycle

/// A measurement of the temporary directory's disk, where brokers keep their data: the time to write and sync one page.
/// A broker that syncs spends at least this time on an acknowledgement, so benchmarks print it beside their latencies.
enum DiskSync {
    private static let repetitions = 50
    /// The page size of Linux, the smallest amount that the kernel writes.
    private static let pageBytes = 4096

    /// Returns the median of all repetitions, in milliseconds.
    static func measureMilliseconds() throws -> Double {
        let path = NSTemporaryDirectory() + "flotilla-bench-sync-\(UUID().uuidString)"
        let file = unsafe open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BenchmarkFailure("cannot create a file in \(NSTemporaryDirectory())") }
        defer {
            close(file)
            unsafe unlink(path)
        }
        let page = [UInt8](repeating: 1, count: pageBytes)
        var syncSeconds: [Double] = []
        for _ in 0..<repetitions {
            let start = Instant.now()
            guard unsafe write(file, page, page.count) == page.count, fdatasync(file) == 0 else {
                throw BenchmarkFailure("cannot write and sync a file in \(NSTemporaryDirectory())")
            }
            syncSeconds.append(Instant.now().seconds(since: start))
        }
        return syncSeconds.median * 1000
    }
}
