internal import Foundation
internal import Glibc

/// How busy the machine is at this moment. A test with a time limit counts its time by it, because other tests run beside
/// it on the same processors.
package enum MachineLoad {
    /// The number of processes and threads that can run now, for each processor: 1 or more.
    ///
    /// The fourth field of `/proc/loadavg` has the number for the whole machine, such as `9/412`.
    package static var runnablePerProcessor: Double {
        guard let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8),
            let field = text.split(separator: " ").dropFirst(3).first,
            let runnable = field.split(separator: "/").first.flatMap({ Double($0) })
        else { return 1 }
        return max(1, runnable / Double(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
    }
}

/// Counts the seconds that an operation would have needed on an idle machine: each interval between two polls is divided by
/// the load in it.
package struct LoadStopwatch {
    package private(set) var seconds = 0.0
    private var lastPoll = ContinuousClock.now

    package init() {}

    /// Counts the time since the last poll.
    package mutating func poll() {
        let now = ContinuousClock.now
        seconds += (now - lastPoll) / .seconds(1) / MachineLoad.runnablePerProcessor
        lastPoll = now
    }
}
