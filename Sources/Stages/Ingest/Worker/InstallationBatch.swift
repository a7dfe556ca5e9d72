internal import InstallationRecords
internal import Kafka
internal import RecordFormat
internal import StageSupport

/// The installations in the reports of one partition, as the current transaction changes them.
struct InstallationBatch {
    enum Status {
        case unchanged
        /// The report repeats known content within its write interval. Only the times are new.
        case repeated
        /// The installation has changed and is written to the topic.
        case changed
    }

    struct Entry {
        let key: HashedKey
        /// Nil while the installation is unknown.
        var installation: Installation?
        var status = Status.unchanged
        /// The number of the record in the output. Nil if the installation has not changed.
        var recordNumber: Int?
    }

    let partition: Int32
    private(set) var entries: [Entry] = []
    private var hashIndex = HashIndex()
    /// The error of a record that a newer program has written, if any.
    var newerRecord: RecordDecodingError?

    init(partition: Int32) { self.partition = partition }

    func index(of key: [UInt8], hash: UInt32) -> Int? {
        var probe = hashIndex.makeProbe(hash: hash)
        while let number = hashIndex.nextNumber(for: &probe) {
            if entries[number].key.bytes == key { return number }
        }
        return nil
    }

    /// - Returns: The number of the entry.
    mutating func add(key: HashedKey, hash: UInt32, installation: Installation?) -> Int {
        hashIndex.add(hash: hash)
        entries.append(Entry(key: key, installation: installation))
        return entries.count - 1
    }

    /// Adds the records of the changed installations.
    mutating func write(to output: inout IngestOutput) {
        for number in entries.indices where entries[number].status == .changed {
            guard let installation = entries[number].installation else { continue }
            entries[number].recordNumber = output.add(
                installation, key: entries[number].key.bytes, partition: partition)
        }
    }

    /// - Returns: Whether the report counts as written.
    mutating func updateEntry(at number: Int, with merged: ReportOutcome) -> Bool {
        entries[number].installation = merged.installation
        guard merged.mustBeWritten || entries[number].status == .changed else {
            entries[number].status = .repeated
            return false
        }
        entries[number].status = .changed
        return true
    }
}
