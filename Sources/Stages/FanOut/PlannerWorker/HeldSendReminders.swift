internal import Sends

/// Reminders for held sends, by the time at which they may go. The scope's row decides whether it holds a
/// send. A reminder for a scope without a held send changes nothing.
struct HeldSendReminders {
    /// The most reminders, and the most bytes of their keys. Above either the planner stops reading sends. A
    /// reminder lives for seconds, so more of them mean a burst in as many scopes.
    static let countMax = 200_000
    static let keyBytesMax = 16 << 20

    struct Reminder: Equatable {
        var key: ScopeKey
        var partition: Int32
    }

    /// The reminders by second since 1970. There are few different seconds at a time.
    private var remindersBySecond: [Int64: [Reminder]] = [:]
    private(set) var count = 0
    /// The bytes of the keys of all reminders.
    private(set) var keyBytes = 0

    var isFull: Bool { count >= Self.countMax || keyBytes >= Self.keyBytesMax }

    mutating func add(_ key: ScopeKey, in partition: Int32, at second: Int64) {
        remindersBySecond[second, default: []].append(Reminder(key: key, partition: partition))
        count += 1
        keyBytes += key.bytes.count
    }

    /// Takes at most `countMax` reminders of some partitions that are due.
    ///
    /// - Parameter now: seconds since 1970.
    mutating func takeDue(countMax: Int, of partitions: Set<Int32>, at now: Int64) -> [Reminder] {
        var taken: [Reminder] = []
        for second in remindersBySecond.keys.filter({ $0 <= now }).sorted() where taken.count < countMax {
            remindersBySecond[second]?.removeAll { reminder in
                guard taken.count < countMax, partitions.contains(reminder.partition) else { return false }
                taken.append(reminder)
                return true
            }
            if remindersBySecond[second]?.isEmpty == true { remindersBySecond[second] = nil }
        }
        count -= taken.count
        keyBytes -= taken.reduce(0) { $0 + $1.key.bytes.count }
        return taken
    }

    /// Drops the reminders of all other partitions.
    mutating func removeAll(except partitions: some Collection<Int32>) {
        if count == 0 { return }
        remindersBySecond = remindersBySecond.compactMapValues { reminders in
            let left = reminders.filter { partitions.contains($0.partition) }
            return left.isEmpty ? nil : left
        }
        count = remindersBySecond.values.reduce(0) { $0 + $1.count }
        keyBytes = remindersBySecond.values.joined().reduce(0) { $0 + $1.key.bytes.count }
    }
}
