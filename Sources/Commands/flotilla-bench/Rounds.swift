internal import CLinux
internal import Glibc

/// A measurement of work on one thread: the work runs `iterations` times in each of `count` rounds, and the
/// median round counts. Time is the thread's processor time, which other processes do not change.
struct Rounds {
    let count: Int
    let iterations: Int

    /// Returns the iterations per second of processor time, in the median round.
    func rate(of work: () throws -> Void) rethrows -> Double {
        var rates: [Double] = []
        for _ in 0..<count {
            let start = Self.threadSeconds()
            for _ in 0..<iterations { try work() }
            rates.append(Double(iterations) / (Self.threadSeconds() - start))
        }
        return rates.median
    }

    /// Returns the processor time of the calling thread since its start.
    private static func threadSeconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
