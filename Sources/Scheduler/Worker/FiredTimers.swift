internal import LiveActivity
internal import Stages
internal import Store

/// The timers of one transaction.
struct FiredTimers {
    /// Milliseconds since 1970.
    let time: Int64
    let countMax: Int
    /// That have timers among them.
    private(set) var partitions: Set<Int32> = []
    private(set) var fired: [(partition: Int32, dueAt: Int64, timer: LatelyFired.Fired?)] = []
    private(set) var expired = 0
    /// Entries that stand for nothing any more.
    private var outdated: [(partition: Int32, entry: DueEntry)] = []

    init(time: Int64, countMax: Int) {
        self.time = time
        self.countMax = countMax
    }

    var isEmpty: Bool { count == 0 }
    /// Rows that go.
    private(set) var count = 0

    /// Takes what is due next, and writes it down.
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

    /// Only behind the commit: until then it may come to nothing.
    mutating func dropOutdated(in views: TopicViews) {
        for (partition, entry) in outdated { views[partition]?.drop(entry.stored.span) }
        outdated.removeAll()
    }
}
