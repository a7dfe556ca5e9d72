internal import Kafka
internal import LiveActivity
internal import StageSupport

/// The installations in the reports of one partition, as the current transaction changes them.
struct Roster {
    enum Fate {
        case asItWas
        /// The report repeats known content within its write interval. Only the times are new.
        case repeated
        /// The installation has changed and is written to the topic.
        case changed
    }

    struct Entry {
        let key: KeyBytes
        /// Nil while the installation is unknown.
        var installation: Installation?
        var fate = Fate.asItWas
        /// The number of the record in the output. Nil if the installation has not changed.
        var record: Int?
    }

    let partition: Int32
    private(set) var entries: [Entry] = []
    private var table = NumberTable()
    /// The error of a record that a newer program has written, if any.
    var newerRecord: RecordError?

    init(of partition: Int32) { self.partition = partition }

    func index(of key: [UInt8], murmur: UInt32) -> Int? {
        var probe = table.probe(murmur)
        while let number = table.next(&probe) {
            if entries[number].key.bytes == key { return number }
        }
        return nil
    }

    /// - Returns: The number of the entry.
    mutating func add(_ key: KeyBytes, murmur: UInt32, _ installation: Installation?) -> Int {
        table.add(murmur)
        entries.append(Entry(key: key, installation: installation))
        return entries.count - 1
    }

    /// Adds the records of the changed installations.
    mutating func write(to output: inout BatchOutput) {
        for number in entries.indices where entries[number].fate == .changed {
            guard let installation = entries[number].installation else { continue }
            entries[number].record = output.add(
                installation, key: entries[number].key.bytes, partition: partition)
        }
    }

    /// - Returns: Whether the report counts as written.
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
