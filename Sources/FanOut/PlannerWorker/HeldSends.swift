internal import LiveActivity

/// When which scope's held send may go. It only reminds: whether a scope holds one is said by its row, and a
/// reminder for one that does not changes nothing.
struct HeldSends {
    /// Reminders at a time; beyond it reading sends waits. They wait for seconds, so more than that are a burst
    /// in as many scopes.
    static let countMax = 200_000

    struct Reminder: Equatable {
        var key: GroupKey
        var partition: Int32
    }

    /// By the second since 1970, of which there are few at a time.
    private var due: [Int64: [Reminder]] = [:]
    private(set) var count = 0

    var isFull: Bool { count >= Self.countMax }

    mutating func add(_ key: GroupKey, in partition: Int32, at second: Int64) {
        due[second, default: []].append(Reminder(key: key, partition: partition))
        count += 1
    }

    /// Takes up to so many whose time has come by their partition's clock.
    ///
    /// - Parameter times: seconds since 1970, by partition.
    mutating func take(_ countMax: Int, at times: [Int32: Int64]) -> [Reminder] {
        guard let latest = times.values.max() else { return [] }
        var taken: [Reminder] = []
        for second in due.keys.filter({ $0 <= latest }).sorted() where taken.count < countMax {
            due[second]?.removeAll { reminder in
                guard taken.count < countMax, let now = times[reminder.partition], now >= second else {
                    return false
                }
                taken.append(reminder)
                return true
            }
            if due[second]?.isEmpty == true { due[second] = nil }
        }
        count -= taken.count
        return taken
    }

    /// Others are of partitions that went.
    mutating func keep(_ partitions: some Collection<Int32>) {
        if count == 0 { return }
        due = due.compactMapValues { reminders in
            let left = reminders.filter { partitions.contains($0.partition) }
            return left.isEmpty ? nil : left
        }
        count = due.values.reduce(0) { $0 + $1.count }
    }
}
