internal import Telemetry

/// The objects and facts that all logs of a broker share.
struct LogEnvironment {
    let disk: Disk
    let openSegments: OpenSegments
    let flusher: Flusher
    let flushPolicy: FlushPolicy
    /// Whether the machine was up since the data directory was last open. Then all pages that the last
    /// process wrote are there, in order, even if it was killed.
    let machineStayedUp: Bool
    /// The wall clock, for recovery. All other calls get the time as an argument.
    let clock: () -> WallTime
    let log: Log
    let counters: LogCounters
}
