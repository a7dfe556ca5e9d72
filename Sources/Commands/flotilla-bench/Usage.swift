internal import CLinux
internal import Glibc
internal import Lifecycle

/// The cost of a piece of work: wall time and processor time.
struct Usage {
    let seconds: Double
    let processorSeconds: Double

    /// Runs the work and returns its cost. The processor time counts all threads of this process.
    static func measure(_ work: () throws -> Void) rethrows -> Usage {
        let start = Instant.now()
        let before = processorSeconds()
        try work()
        return Usage(
            seconds: Instant.now().seconds(since: start), processorSeconds: processorSeconds() - before)
    }

    private static func processorSeconds() -> Double {
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(of time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(of: usage.ru_utime) + seconds(of: usage.ru_stime)
    }

    /// Returns the peak of the resident memory of this process.
    static func peakMemoryMiB() -> Int {
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        // Linux gives kibibytes.
        return usage.ru_maxrss / 1024
    }
}

extension [Double] {
    var median: Double { sorted()[count / 2] }
}

/// Returns 1234567.8 as "1,234,568".
func grouped(_ value: Double) -> String {
    var digits = Array(String(Int(value.rounded())))
    var commaIndex = digits.count - 3
    while commaIndex > 0 {
        digits.insert(",", at: commaIndex)
        commaIndex -= 3
    }
    return String(digits)
}
