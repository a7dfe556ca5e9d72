internal import Schedules
internal import Sends
internal import StageSupport
internal import Store

/// The due rows of one transaction: timers that fire or expire, and idempotency rows that are forgotten.
struct FiringBatch {
    /// The time of the transaction, in milliseconds since 1970.
    let time: Int64
    /// The most rows that the transaction deletes.
    let rowCountMax: Int
    /// The number of rows that the transaction deletes.
    private(set) var rowCount = 0
    /// The partitions of these rows.
    private(set) var partitions: Set<Int32> = []
    /// The timers whose sends are in the output. `timer` is nil for an automatic end, which no request can cancel.
    private(set) var fired: [(partition: Int32, dueAt: Int64, timer: RecentlyFiredTimers.Timer?)] = []
    /// The number of timers that expire, because they are too late.
    private(set) var expiredCount = 0
    /// Entries whose row has changed or is gone. They are deleted without any other effect.
    private var outdated: [(partition: Int32, entry: DueEntry)] = []

    init(time: Int64, rowCountMax: Int) {
        self.time = time
        self.rowCountMax = rowCountMax
    }

    var isEmpty: Bool { rowCount == 0 }

    /// Adds the row of a due entry. Its send or report, and its tombstone, go to the output.
    mutating func add(
        _ entry: DueEntry, from rows: CommittedRows, to output: inout SchedulerOutput
    ) throws(StoreError) {
        let isIdempotencyRow = unsafe entry.key.bytes.withUnsafeBytes {
            unsafe ScheduleIdempotencyRow.isKey($0)
        }
        if isIdempotencyRow {
            let row: ScheduleIdempotencyRow? = try rows.row(for: entry.key)
            guard row?.expiresAt == entry.dueAt else {
                return outdated.append((rows.partition, entry))
            }
        } else {
            let row: TimerRow? = try rows.row(for: entry.key)
            guard let row, row.dueAt == entry.dueAt else {
                return outdated.append((rows.partition, entry))
            }
            switch row.outcome(at: time) {
            case .fires(let send):
                output.add(send)
                if let progress = row.firedProgress(of: send, at: time) { output.add(progress) }
                fired.append((rows.partition, row.dueAt, RecentlyFiredTimers.Timer(row)))
            case .expires:
                output.add(row.progress(.expired, at: time))
                expiredCount += 1
            }
        }
        output.addTombstone(for: entry, partition: rows.partition)
        partitions.insert(rows.partition)
        rowCount += 1
    }

    /// Removes the outdated entries from the views. Call it only after the commit, because a transaction that
    /// fails is decided again from the same entries.
    mutating func removeOutdatedEntries(from views: TopicViews) {
        for (partition, entry) in outdated { views[partition]?.remove(key: entry.storedKey.span) }
        outdated.removeAll()
    }
}
