internal import Identifiers
internal import JSON
internal import Jobs
internal import Kafka
internal import RecordFormat
internal import Store

/// Finds a person's pushes in all receipts of a lane. It scans `RecipientHashes`, newest first, and reads only
/// the receipts that may contain the person.
struct PushFinder {
    /// The number of offsets whose hashes are scanned in one read transaction.
    private static let chunkSize: Int64 = 5000
    /// The size of the key of a row, which is the offset of the receipt.
    private static let offsetBytes = 8
    /// The size of the JSON's length in a row of a receipt.
    private static let lengthBytes = 4

    private let file: Store.LMDBEnvironment
    private let partition: TopicPartition
    private let reader: JSONReader
    private let budget: QueryBudget

    /// The pushes of a person.
    struct FoundPushes {
        var pushes: [TimelinePush] = []
        /// False if the time was up before all receipts were read. Then the oldest pushes are missing.
        var isComplete = true
    }

    init(lane: OpenLane, reader: JSONReader, budget: QueryBudget) {
        self.budget = budget
        file = lane.receiptsEnvironment
        partition = lane.receiptsPartition
        self.reader = reader
    }

    /// Returns the newest pushes, newest first.
    ///
    /// - Parameter installation: The only wanted installation, or nil for all installations of the
    ///   recipients.
    func newest(
        limit: Int, to recipients: [Recipient], on installation: String?, app: String
    ) throws -> FoundPushes {
        let wantedHashes = recipients.map { RecipientHashes.hash(of: $0, app: app) }
        let recipientTexts = Set(recipients.map(\.text))
        guard let (first, readEnd) = try offsetBounds() else { return FoundPushes() }
        var found = FoundPushes()
        var end = readEnd
        while end > first, found.pushes.count < limit {
            let start = max(first, end - Self.chunkSize)
            for offset in try candidates(from: start, to: end, matching: wantedHashes).reversed() {
                found.pushes += try readPushes(at: offset, app: app) {
                    recipientTexts.contains($0.recipient)
                        && (installation == nil || $0.installation == installation)
                }
                if found.pushes.count >= limit { break }
            }
            if budget.isTimeUp {
                found.isComplete = start == first
                return found
            }
            end = start
        }
        return found
    }

    /// Returns the offset of the oldest receipt, and the offset behind the newest one. Returns nil without a receipt.
    private func offsetBounds() throws -> (first: Int64, readEnd: Int64)? {
        try file.read { view throws(StoreError) in
            var first: Int64?
            try view.scan(file.table(named: ReceiptTable.recipientHashes.rawValue)) { key, _ in
                if key.count >= Self.offsetBytes { first = Int64(clamping: BigEndian.number(in: key, at: 0)) }
                return .stop
            }
            guard let first,
                let applied = try view.appliedProgress(
                    ofTopic: partition.topic, partition: partition.partition)
            else {
                return nil
            }
            return (first, applied.offset)
        }
    }

    /// Returns the offsets of receipts that may contain one of the recipients, in order.
    private func candidates(
        from start: Int64, to end: Int64, matching wantedHashes: [UInt32]
    ) throws -> [Int64] {
        var offsets: [Int64] = []
        var (lower, upper): ([UInt8], [UInt8]) = ([], [])
        BigEndian.append(start, to: &lower)
        BigEndian.append(end, to: &upper)
        try file.read { view throws(StoreError) in
            try view.scan(
                file.table(named: ReceiptTable.recipientHashes.rawValue),
                range: KeyRange(from: lower, upTo: upper)
            ) { key, stored in
                let prefixBytes = RowChecksum.byteCount + RetentionSweep.timeByteCount
                guard key.count >= Self.offsetBytes, stored.count > prefixBytes else { return .next }
                let hashes = stored.extracting(droppingFirst: prefixBytes)
                for hash in wantedHashes where RecipientHashes.contains(hash, in: hashes) {
                    offsets.append(Int64(clamping: BigEndian.number(in: key, at: 0)))
                    break
                }
                return .next
            }
        }
        return offsets
    }

    /// Returns the wanted pushes of a receipt. The result is empty if another recipient has the same hash.
    private func readPushes(
        at offset: Int64, app: String, where isWanted: (ReceiptLines.Addressee) -> Bool
    ) throws -> [TimelinePush] {
        var key: [UInt8] = []
        BigEndian.append(offset, to: &key)
        let stored = try file.read { view throws(StoreError) -> (json: [UInt8], lines: [UInt8])? in
            guard
                let value = try view.value(
                    of: key.span, in: file.table(named: ReceiptTable.receipts.rawValue)),
                value.count >= RetentionSweep.timeByteCount
            else { return nil }
            return Self.parts(of: value.extracting(droppingFirst: RetentionSweep.timeByteCount))
        }
        guard let stored, let receipt = Receipt.decodeIfValid(stored.json, with: reader), receipt.app == app
        else {
            return []
        }
        return receipt.pushes(to: ReceiptLines.addressees(in: stored.lines.span), where: isWanted)
    }

    /// Returns the JSON of a receipt and its header `to`.
    ///
    /// - Parameter value: The row without its time: the length of the JSON, the JSON, and the header.
    static func parts(of value: Span<UInt8>) -> (json: [UInt8], lines: [UInt8])? {
        guard value.count >= lengthBytes else { return nil }
        var jsonByteCount = 0
        for index in 0..<lengthBytes { jsonByteCount = jsonByteCount << 8 | Int(value[index]) }
        let content = value.extracting(droppingFirst: lengthBytes)
        guard jsonByteCount <= content.count else { return nil }
        return (
            [UInt8](copying: content.extracting(first: jsonByteCount)),
            [UInt8](copying: content.extracting(droppingFirst: jsonByteCount))
        )
    }
}
