internal import Foundation
internal import Glibc

/// The present load of the machine. A test with a time limit divides its time by the load, because other tests run on
/// the same processors.
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

/// Counts the seconds that an operation would have needed on an idle machine: it divides each interval between two
/// polls by the load in it.
package struct LoadStopwatch {
    /// The load is read again after this time. Tests poll more often, and a read for each poll would be a load itself.
    private static let loadInterval = Duration.milliseconds(50)

    package private(set) var seconds = 0.0
    /// At most this much of the time between two polls counts.
    private let countedIntervalMax: Duration
    private var lastPoll = ContinuousClock.now
    private var load = MachineLoad.runnablePerProcessor
    private var loadReadAt = ContinuousClock.now

    package init(countedIntervalMax: Duration = .seconds(3600)) {
        self.countedIntervalMax = countedIntervalMax
    }

    /// Counts the time since the last poll.
    package mutating func poll() {
        let now = ContinuousClock.now
        if now - loadReadAt >= Self.loadInterval {
            load = MachineLoad.runnablePerProcessor
            loadReadAt = now
        }
        seconds += min(now - lastPoll, countedIntervalMax) / .seconds(1) / load
        lastPoll = now
    }
}
