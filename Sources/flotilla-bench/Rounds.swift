internal import CLinux
internal import Glibc

/// Repeats work and takes the median, by the thread's own processor time: on a shared machine only
/// that says what the work costs.
struct Rounds {
    let count: Int
    let iterations: Int

    /// Iterations per second of one core.
    func rate(_ work: () throws -> Void) rethrows -> Double {
        var rates: [Double] = []
        for _ in 0..<count {
            let start = Self.threadSeconds()
            for _ in 0..<iterations { try work() }
            rates.append(Double(iterations) / (Self.threadSeconds() - start))
        }
        return rates.sorted()[count / 2]
    }

    private static func threadSeconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
