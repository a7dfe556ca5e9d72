internal import LiveActivity
internal import StageSupport
internal import Store

/// The timers that one transaction fires.
struct FiredTimers {
    /// The time of the transaction, in milliseconds since 1970.
    let time: Int64
    let countMax: Int
    /// The partitions of these timers.
    private(set) var partitions: Set<Int32> = []
    private(set) var fired: [(partition: Int32, dueAt: Int64, timer: LatelyFired.Fired?)] = []
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
    mutating func take(
        _ entry: DueEntry, from rows: CommittedRows, into output: inout TimerOutput
    ) throws(StoreError) {
        let isSeen = unsafe entry.key.bytes.withUnsafeBytes { unsafe SeenOrder.isKey($0) }
        if isSeen {
            let seen: SeenOrder? = try rows.row(entry.key)
            guard seen?.forgottenAt == entry.at else {
                return outdated.append((rows.partition, entry))
            }
        } else {
            let row: TimerRow? = try rows.row(entry.key)
            guard let row, row.dueAt == entry.at else {
                return outdated.append((rows.partition, entry))
            }
            switch row.fate(at: time) {
            case .fires(let send):
                output.add(send)
                fired.append((rows.partition, row.dueAt, LatelyFired.Fired(row)))
            case .expires:
                output.add(row.progress(.expired, at: time))
                expired += 1
            }
        }
        output.remove(entry, partition: rows.partition)
        partitions.insert(rows.partition)
        count += 1
    }

    /// Removes the outdated entries from the views. Call it only after the commit, because the transaction
    /// can fail until then.
    mutating func dropOutdated(in views: TopicViews) {
        for (partition, entry) in outdated { views[partition]?.drop(entry.stored.span) }
        outdated.removeAll()
    }
}
