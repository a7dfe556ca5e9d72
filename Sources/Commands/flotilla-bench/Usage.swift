internal import CLinux
internal import Glibc
internal import Lifecycle

/// The cost of a piece of work in this process: wall time and processor time.
struct Usage {
    /// The wall time.
    let seconds: Double
    /// The time on processors, in user mode and in the kernel, of all threads together.
    let processorSeconds: Double

    /// Runs the work and returns its cost. Work of other threads in the meantime counts too, such as the threads of the
    /// Kafka client.
    static func measure(_ work: () throws -> Void) rethrows -> Usage {
        let start = Instant.now()
        let processorSecondsBefore = processorSeconds()
        try work()
        return Usage(
            seconds: Instant.now().seconds(since: start),
            processorSeconds: processorSeconds() - processorSecondsBefore)
    }

    private static func processorSeconds() -> Double {
        let usage = resourceUsage()
        func seconds(of time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(of: usage.ru_utime) + seconds(of: usage.ru_stime)
    }

    /// Returns the peak of the resident memory of this process since its start.
    static func peakMemoryMiB() -> Int {
        let peakKibibytes = resourceUsage().ru_maxrss
        return peakKibibytes / 1024
    }

    private static func resourceUsage() -> rusage {
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage
    }
}

/// The rate of work: by the wall clock, and by the time on processors.
struct WorkRate {
    let perSecond: Double
    let perCoreSecond: Double

    init(count: Double, seconds: Double, processorSeconds: Double) {
        perSecond = count / seconds
        perCoreSecond = count / processorSeconds
    }
}

extension [Double] {
    /// The middle value, or the higher one of the two. The array must not be empty.
    var median: Double { sorted()[count / 2] }
}

/// Returns a number rounded and with commas between thousands: 1234567.8 gives "1,234,568".
func grouped(_ value: Double) -> String {
    var digits = Array(String(Int(value.rounded())))
    var commaIndex = digits.count - 3
    while commaIndex > 0 {
        digits.insert(",", at: commaIndex)
        commaIndex -= 3
    }
    return String(digits)
}
