internal import InstallationRecords
internal import StageSupport

/// The owners of the start tokens that the claims of one partition name, as the current transaction changes them.
struct TokenOwnerBatch {
    /// The owner of a token.
    struct Entry {
        let key: HashedKey
        /// Nil if the token has no owner.
        var row: TokenOwnerRow?
        var isChanged = false
        /// The number of its record in the output. Nil if the owner has not changed.
        var recordNumber: Int?
    }

    private(set) var entries: [Entry] = []
    /// Finds the index of an entry by Kafka's hash of its key.
    private var hashIndex = HashIndex()

    /// Returns the index of the entry with this key.
    func index(of key: [UInt8], hash: UInt32) -> Int? {
        var probe = hashIndex.makeProbe(hash: hash)
        while let index = hashIndex.nextNumber(for: &probe) {
            if entries[index].key.bytes == key { return index }
        }
        return nil
    }

    /// Adds an entry, and returns its index.
    mutating func add(key: HashedKey, hash: UInt32, row: TokenOwnerRow?) -> Int {
        hashIndex.add(hash: hash)
        entries.append(Entry(key: key, row: row))
        return entries.count - 1
    }

    /// Changes the owner. Returns whether this is the first change of the entry.
    mutating func setOwner(_ row: TokenOwnerRow, ofEntryAt index: Int) -> Bool {
        let isFirstChange = !entries[index].isChanged
        entries[index].row = row
        entries[index].isChanged = true
        return isFirstChange
    }

    /// Adds the records of the changed owners.
    mutating func write(to output: inout IngestOutput, partition: Int32) {
        for index in entries.indices where entries[index].isChanged {
            guard let row = entries[index].row else { continue }
            entries[index].recordNumber = output.add(
                row, key: entries[index].key.bytes, partition: partition)
        }
    }
}
