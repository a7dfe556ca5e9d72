internal import Foundation
internal import Glibc
internal import Lifecycle

/// A measurement of the disk that the broker uses: the time to write and sync a page.
enum DiskSync {
    private static let repetitions = 50
    private static let pageBytes = 4096

    /// Returns the median of several repetitions, in milliseconds.
    static func measureMilliseconds() throws -> Double {
        let path = NSTemporaryDirectory() + "flotilla-bench-sync-\(UUID().uuidString)"
        let file = unsafe open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BenchmarkFailure("cannot create a file in \(NSTemporaryDirectory())") }
        defer {
            close(file)
            unsafe unlink(path)
        }
        let page = [UInt8](repeating: 1, count: pageBytes)
        var seconds: [Double] = []
        for _ in 0..<repetitions {
            let start = Instant.now()
            guard unsafe write(file, page, page.count) == page.count, fdatasync(file) == 0 else {
                throw BenchmarkFailure("cannot write to the disk")
            }
            seconds.append(Instant.now().seconds(since: start))
        }
        return seconds.median * 1000
    }
}
