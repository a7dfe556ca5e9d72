internal import LiveActivity
internal import Stages
internal import Store

/// The timers of one transaction.
struct FiredTimers {
    /// Milliseconds since 1970.
    let time: Int64
    let countMax: Int
    var tables: [Int32: PartitionTimers] = [:]
    private(set) var fired: [(partition: Int32, row: TimerRow)] = []
    private(set) var sends: [Send] = []
    private(set) var expired: [TimerRow] = []
    private var forgotten = 0
    /// Entries that stand for nothing.
    private var outdated: [(partition: Int32, entry: DueEntry)] = []

    init(time: Int64, countMax: Int) {
        self.time = time
        self.countMax = countMax
    }

    /// Rows that go.
    var count: Int { sends.count + expired.count + forgotten }
    var isEmpty: Bool { count == 0 }

    mutating func take(_ entry: DueEntry, from table: PartitionTimers) throws(StoreError) {
        let isSeen = unsafe entry.key.bytes.withUnsafeBytes { unsafe SeenOrder.isKey($0) }
        if isSeen {
            guard let seen = try table.seen(entry.key), seen.forgottenAt == entry.at else {
                return outdated.append((table.partition, entry))
            }
            table.removeSeen(entry.key)
            forgotten += 1
            return
        }
        guard let row = try table.timer(entry.key), row.dueAt == entry.at else {
            return outdated.append((table.partition, entry))
        }
        table.remove(entry.key)
        switch row.fate(at: time) {
        case .fires(let send):
            sends.append(send)
            fired.append((table.partition, row))
        case .expires: expired.append(row)
        }
    }

    /// Only behind the commit: until then what was taken twice stands for the first time, and that may come to
    /// nothing.
    mutating func dropOutdated(in views: TopicViews) {
        for (partition, entry) in outdated { views[partition]?.drop(entry.stored.span) }
        outdated.removeAll()
    }
}
