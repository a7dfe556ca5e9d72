internal import CLinux
internal import Glibc

/// Repeated work whose median is taken, by the thread's processor time. On a shared machine only this time
/// shows the cost of the work.
struct Rounds {
    let count: Int
    let iterations: Int

    /// Returns iterations per second of one core.
    func rate(of work: () throws -> Void) rethrows -> Double {
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
