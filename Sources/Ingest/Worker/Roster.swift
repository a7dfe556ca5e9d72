internal import Kafka
internal import LiveActivity
internal import Stages

/// The installations that the reports of one partition are about, as the transaction in hand makes them.
struct Roster {
    enum Fate {
        case asItWas
        /// What was written down before in this grain: new are its times alone.
        case repeated
        /// What the topic gets.
        case changed
    }

    struct Entry {
        let key: KeyBytes
        /// Nil while nothing is known of it.
        var installation: Installation?
        var fate = Fate.asItWas
        /// Its record's number in the output, where it has changed.
        var record: Int?
    }

    let partition: Int32
    /// How many reports it has heard, and the offset behind the last of them.
    private(set) var reports = 0
    private(set) var next: Int64 = 0
    private(set) var entries: [Entry] = []
    private var table = NumberTable()
    /// Set where a newer program has written what stands here.
    var newerRecord: RecordError?

    init(of partition: Int32) { self.partition = partition }

    mutating func heard(_ offset: Int64) {
        reports += 1
        next = offset + 1
    }

    func index(of key: [UInt8], murmur: UInt32) -> Int? {
        var probe = table.probe(murmur)
        while let number = table.next(&probe) {
            if entries[number].key.bytes == key { return number }
        }
        return nil
    }

    /// - Returns: its number.
    mutating func add(_ key: KeyBytes, murmur: UInt32, _ installation: Installation?) -> Int {
        table.add(murmur)
        entries.append(Entry(key: key, installation: installation))
        return entries.count - 1
    }

    /// Adds the records of those that have changed.
    mutating func write(to output: inout BatchOutput) {
        for number in entries.indices where entries[number].fate == .changed {
            guard let installation = entries[number].installation else { continue }
            entries[number].record = output.add(
                installation, key: entries[number].key.bytes, partition: partition)
        }
    }

    /// - Returns: whether it counts as written.
    mutating func merged(_ number: Int, _ merged: ReportOutcome) -> Bool {
        entries[number].installation = merged.installation
        guard merged.isDue || entries[number].fate == .changed else {
            entries[number].fate = .repeated
            return false
        }
        entries[number].fate = .changed
        return true
    }
}
