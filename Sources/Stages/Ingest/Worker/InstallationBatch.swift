internal import InstallationRecords
internal import Kafka
internal import RecordFormat
internal import StageSupport

/// The installations to which the reports of one partition belong, as the current transaction changes them.
struct InstallationBatch {
    /// The change of an installation in the current transaction.
    enum Status {
        case unchanged
        /// The report repeats known content within its write interval. Only the times are new.
        case repeated
        /// The installation has changed and is written to the topic.
        case changed
    }

    /// An installation.
    struct Entry {
        let key: HashedKey
        /// Nil until the first report of an unknown installation is merged.
        var installation: Installation?
        var status = Status.unchanged
        /// The number of its record in the output. Nil if the installation has not changed.
        var recordNumber: Int?
    }

    let partition: Int32
    private(set) var entries: [Entry] = []
    /// The owners of start tokens that claims of the partition name.
    var owners = TokenOwnerBatch()
    /// Finds the index of an entry by Kafka's hash of its key.
    private var hashIndex = HashIndex()
    /// The error of an installation that a newer program version wrote, if there was one. It ends the process.
    var newerRecord: RecordDecodingError?

    init(partition: Int32) { self.partition = partition }

    /// Returns the index of the entry with this key.
    func index(of key: [UInt8], hash: UInt32) -> Int? {
        var probe = hashIndex.makeProbe(hash: hash)
        while let index = hashIndex.nextNumber(for: &probe) {
            if entries[index].key.bytes == key { return index }
        }
        return nil
    }

    /// Adds an entry, and returns its index.
    mutating func add(key: HashedKey, hash: UInt32, installation: Installation?) -> Int {
        hashIndex.add(hash: hash)
        entries.append(Entry(key: key, installation: installation))
        return entries.count - 1
    }

    /// Adds the records of the changed installations.
    mutating func write(to output: inout IngestOutput) {
        for index in entries.indices where entries[index].status == .changed {
            guard let installation = entries[index].installation else { continue }
            entries[index].recordNumber = output.add(
                installation, key: entries[index].key.bytes, partition: partition)
        }
        owners.write(to: &output, partition: partition)
    }

    /// Takes over the result of a report. Returns whether the installation is written to the topic.
    mutating func updateEntry(at index: Int, with merged: MergedInstallation) -> Bool {
        entries[index].installation = merged.installation
        guard merged.mustBeWritten || entries[index].status == .changed else {
            entries[index].status = .repeated
            return false
        }
        entries[index].status = .changed
        return true
    }
}
