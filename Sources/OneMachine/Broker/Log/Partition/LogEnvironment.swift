internal import Telemetry

/// The objects and facts that all logs of a broker share.
struct LogEnvironment {
    let disk: Disk
    let openSegments: OpenSegments
    let flusher: Flusher
    let flushPolicy: FlushPolicy
    /// Whether the machine has run without a restart since the data directory was last open. Then the files
    /// have all bytes that the last process wrote, even if that process was killed.
    let machineStayedUp: Bool
    /// The wall clock, for recovery. All other calls get the time as an argument.
    let clock: () -> WallTime
    let log: Log
    let counters: LogCounters
}
