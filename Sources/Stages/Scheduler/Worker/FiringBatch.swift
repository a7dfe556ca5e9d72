internal import Schedules
internal import Sends
internal import StageSupport
internal import Store

/// The timers that one transaction fires.
struct FiringBatch {
    /// The time of the transaction, in milliseconds since 1970.
    let time: Int64
    let countMax: Int
    /// The partitions of these timers.
    private(set) var partitions: Set<Int32> = []
    private(set) var fired: [(partition: Int32, dueAt: Int64, timer: RecentlyFiredTimers.Timer?)] = []
    private(set) var expired = 0
    /// Entries in due order whose row has changed or is gone.
    private var outdated: [(partition: Int32, entry: DueEntry)] = []

    init(time: Int64, countMax: Int) {
        self.time = time
        self.countMax = countMax
    }

    var isEmpty: Bool { count == 0 }
    /// The number of rows that the transaction deletes.
    private(set) var count = 0

    /// Takes the next due entry and adds its records to the output.
    mutating func add(
        _ entry: DueEntry, from rows: CommittedRows, to output: inout SchedulerOutput
    ) throws(StoreError) {
        let isSeenOrder = unsafe entry.key.bytes.withUnsafeBytes { unsafe ScheduleIdempotencyRow.isKey($0) }
        if isSeenOrder {
            let seen: ScheduleIdempotencyRow? = try rows.row(for: entry.key)
            guard seen?.expiresAt == entry.dueAt else {
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
                fired.append((rows.partition, row.dueAt, RecentlyFiredTimers.Timer(row)))
            case .expires:
                output.add(row.progress(.expired, at: time))
                expired += 1
            }
        }
        output.addTombstone(for: entry, partition: rows.partition)
        partitions.insert(rows.partition)
        count += 1
    }

    /// Removes the outdated entries from the views. Call it only after the commit, because the transaction
    /// can fail until then.
    mutating func removeOutdatedEntries(from views: TopicViews) {
        for (partition, entry) in outdated { views[partition]?.remove(key: entry.storedKey.span) }
        outdated.removeAll()
    }
}
