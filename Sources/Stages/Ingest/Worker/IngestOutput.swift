internal import Glibc
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import RecordFormat
internal import StageSupport

/// The records that a transaction writes, ready to send. A key that several reports changed is written once, with its
/// last value. The memory is used again for every transaction.
///
/// Keys and values lie in two buffers, without an allocation for each record.
struct IngestOutput: ~Copyable {
    /// The limits of one transaction, in records and in bytes. The report that reaches a limit is the transaction's
    /// last, and the next transaction takes the rest. Both limits are well below the producer's queue size.
    static let recordsMax = 40_000
    static let bytesMax = 16 << 20

    /// The limit of the records that one transaction decodes, in bytes. A decoded installation takes about three times
    /// as much memory as its record.
    static let decodedBytesMax = 8 << 20

    /// A record, by the positions of its bytes.
    private struct StagedRecord {
        var partition: Int32
        /// The bytes in `keys`.
        var key: Range<Int>
        /// The bytes in `values`. Nil for a tombstone.
        var value: Range<Int>?
    }

    /// An estimate of the size of an owner's record, with a long name.
    private static let ownerByteCount = 256

    private let laneCount: Int
    private let recordsMax: Int
    private var keys: [UInt8] = []
    private var values = JSONWriter(capacity: 1 << 20)
    private var installations: [StagedRecord] = []
    private var registry: [StagedRecord] = []
    /// Finds the record of a registry key, by the number of the record in `registry`.
    private var registryIndices = HashIndex()
    private var events: [StagedRecord] = []
    /// The number of changed installations and an estimate of their bytes. They are added after the last report, so the
    /// limits count them before.
    private var reservedSpace = (records: 0, bytes: 0)
    private var decodedBytes = 0
    /// The key of the record that is being added.
    private var scratch: [UInt8] = []

    init(laneCount: Int, recordsMax: Int = Self.recordsMax) {
        self.laneCount = laneCount
        self.recordsMax = recordsMax
    }

    /// The numbers of records by topic.
    var counts: (installations: Int, registry: Int, events: Int) {
        (installations.count, registry.count, events.count)
    }

    var byteCount: Int { keys.count + values.count }

    var isFull: Bool {
        registry.count + events.count + reservedSpace.records >= recordsMax
            || keys.count + values.count + reservedSpace.bytes >= Self.bytesMax
            || decodedBytes >= Self.decodedBytesMax
    }

    mutating func removeAll() {
        keys.removeAll(keepingCapacity: true)
        values.removeAll()
        installations.removeAll(keepingCapacity: true)
        registry.removeAll(keepingCapacity: true)
        registryIndices.removeAll()
        events.removeAll(keepingCapacity: true)
        reservedSpace = (0, 0)
        decodedBytes = 0
    }

    /// Counts the size of an installation's record that was decoded for this transaction.
    mutating func countDecoded(bytes: Int) { decodedBytes += bytes }

    /// Reserves space for a changed installation. It is added after all its reports are merged.
    mutating func reserveSpace(for installation: Installation) {
        reservedSpace.records += 1
        reservedSpace.bytes += installation.estimatedByteCount
    }

    /// Reserves space for a changed owner of a token.
    mutating func reserveSpaceForOwner() {
        reservedSpace.records += 1
        reservedSpace.bytes += Self.ownerByteCount
    }

    /// Adds a row of `installations`, once per transaction.
    ///
    /// - Returns: The number of the record.
    @discardableResult
    mutating func add(_ row: some JSONRecord, key: [UInt8], partition: Int32) -> Int {
        let start = values.count
        row.append(to: &values)
        installations.append(
            StagedRecord(partition: partition, key: appendKey(key), value: start..<values.count))
        return installations.count - 1
    }

    /// Adds the tombstone of an installation that is forgotten.
    ///
    /// - Returns: The number of the record.
    mutating func addTombstone(key: [UInt8], partition: Int32) -> Int {
        installations.append(StagedRecord(partition: partition, key: appendKey(key), value: nil))
        return installations.count - 1
    }

    /// Returns a copy of an installation's record. It is empty for a tombstone.
    borrowing func record(number: Int) -> [UInt8] {
        guard let range = installations[number].value else { return [] }
        return unsafe values.withBytes { values in
            unsafe Array(UnsafeRawBufferPointer(rebasing: values[range]))
        }
    }

    /// Adds a change of the registry to its recipient's lane. It replaces an earlier change of the same key.
    mutating func add(_ change: borrowing RegistryChange) {
        let start = values.count
        let hasRow = change.appendRow(to: &values)
        let value = hasRow ? start..<values.count : nil
        // The lane depends on the beginning of the key, which names the recipient.
        let laneKeyByteCount = change.key.write(to: &scratch)
        let hash = Murmur2.hash(of: scratch.span)
        var probe = registryIndices.makeProbe(hash: hash)
        while let number = registryIndices.nextNumber(for: &probe) {
            guard isEqualToScratch(keyAt: registry[number].key) else { continue }
            registry[number].value = value
            return
        }
        registryIndices.add(hash: hash)
        let lane = Murmur2.partition(
            forKey: scratch.span.extracting(first: laneKeyByteCount), partitionCount: laneCount)
        let keyStart = keys.count
        keys.append(contentsOf: scratch)
        registry.append(StagedRecord(partition: Int32(lane), key: keyStart..<keys.count, value: value))
    }

    /// Adds an event to its recipient's lane.
    mutating func add(_ event: Event) {
        let start = values.count
        event.append(to: &values)
        event.writeKey(to: &scratch)
        let lane = Murmur2.partition(forKey: scratch.span, partitionCount: laneCount)
        events.append(
            StagedRecord(partition: Int32(lane), key: appendKey(scratch), value: start..<values.count))
    }

    // MARK: Keys

    private mutating func appendKey(_ key: [UInt8]) -> Range<Int> {
        let start = keys.count
        keys.append(contentsOf: key)
        return start..<keys.count
    }

    private func isEqualToScratch(keyAt key: Range<Int>) -> Bool {
        guard key.count == scratch.count else { return false }
        return unsafe keys.withUnsafeBytes { keys in
            unsafe scratch.withUnsafeBytes { scratch in
                unsafe memcmp(keys.baseAddress! + key.lowerBound, scratch.baseAddress!, key.count) == 0
            }
        }
    }

    // MARK: Sending

    /// Sends all records. Returns false if the producer refused one.
    borrowing func send(
        by producer: TransactionalProducer, installations: Topic, registry: Topic, events: Topic,
        onStep: (IngestStep) -> Void
    ) -> Bool {
        guard send(self.installations, to: installations, by: producer) else { return false }
        onStep(.installationsSent)
        guard send(self.registry, to: registry, by: producer) else { return false }
        onStep(.registrySent)
        guard send(self.events, to: events, by: producer) else { return false }
        onStep(.eventsSent)
        return true
    }

    private borrowing func send(
        _ records: [StagedRecord], to topic: Topic, by producer: TransactionalProducer
    ) -> Bool {
        let keys = keys
        return unsafe values.withBytes { values in
            let (keys, values) = unsafe (keys.span, Span<UInt8>(_unsafeBytes: values))
            for record in records {
                let key = keys.extracting(record.key)
                let value: Span<UInt8>? =
                    if let range = record.value { values.extracting(range) } else { nil }
                guard producer.queue(to: topic, partition: record.partition, key: key, value: value) else {
                    return false
                }
            }
            return true
        }
    }
}

extension Installation {
    /// The size of an entry with a token and long names, and of a long name, in bytes.
    private static var entryByteCount: Int { 512 }
    private static var nameByteCount: Int { 128 }

    /// An estimate of the record's size, for a limit. It is rather too large than too small.
    fileprivate var estimatedByteCount: Int {
        let entries =
            2 + startTokens.count + activities.count + refusedTokens.count + formerRecipients.count
            + taps.count
        let names = (tags?.value.count ?? 0) + (runningActivities?.value.count ?? 0)
        return Self.entryByteCount * entries + Self.nameByteCount * names + (attributes?.value.count ?? 0)
    }
}
