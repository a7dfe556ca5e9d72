package import Telemetry

/// The metrics of all logs.
package struct LogCounters: Sendable {
    let appendedBytes: Counter
    let damaged: Counter
    let diskFailures: Counter
    let recoveredBytesCut: Counter
    let syncSeconds: Histogram

    package init(metrics: Metrics) {
        appendedBytes = metrics.counter(
            "flotilla_broker_appended_bytes_total", help: "Bytes of record batches written to segments.")
        damaged = metrics.counter(
            "flotilla_broker_damaged_batches_total",
            help: "Stored batches whose checksum did not hold; they were not served.")
        diskFailures = metrics.counter(
            "flotilla_broker_disk_failures_total", help: "Writes and syncs that failed, disk full included.")
        recoveredBytesCut = metrics.counter(
            "flotilla_broker_cut_bytes_total", help: "Bytes of torn tails that recovery cut off.")
        syncSeconds = metrics.histogram(
            "flotilla_broker_sync_seconds",
            help: "Time until the disk had what one log asked to be synced; acks=all waits for it.")
    }
}
