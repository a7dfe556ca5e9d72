internal import Identifiers
internal import JSON
internal import Jobs
internal import Kafka
internal import RecordFormat
internal import Store

/// A search for a person's pushes in all receipts of a lane. It scans the marks, newest first, and reads only
/// receipts that may contain the person.
struct PushFinder {
    /// The receipts whose marks are scanned in one read transaction.
    private static let chunkSize: Int64 = 20_000

    private let file: Store.LMDBEnvironment
    private let place: TopicPartition
    private let reader: JSONReader

    init(lane: OpenLane, reader: JSONReader) {
        file = lane.receipts
        place = lane.receiptsPlace
        self.reader = reader
    }

    /// Returns the newest pushes, newest first.
    ///
    /// - Parameter installation: The only wanted installation, or nil for all installations of the
    ///   recipients.
    func newest(
        limit: Int, to recipients: [Recipient], on installation: String?, app: String
    ) throws -> [TimelinePush] {
        let wanted = recipients.map { RecipientHashes.hash(of: $0, app: app) }
        let texts = Set(recipients.map(\.text))
        guard let (first, last) = try offsetBounds() else { return [] }
        var pushes: [TimelinePush] = []
        var end = last + 1
        while end > first, pushes.count < limit {
            let start = max(first, end - Self.chunkSize)
            for offset in try candidates(from: start, to: end, matching: wanted).reversed() {
                pushes += try readPushes(at: offset, app: app) {
                    texts.contains($0.recipient) && (installation == nil || $0.installation == installation)
                }
                if pushes.count >= limit { break }
            }
            end = start
        }
        return pushes
    }

    /// Returns the offset of the oldest receipt, and an offset behind the newest.
    private func offsetBounds() throws -> (Int64, Int64)? {
        try file.read { view throws(StoreError) in
            var first: Int64?
            try view.scan(file.table(named: ReceiptTable.marks.rawValue)) { key, _ in
                if key.count >= 8 { first = Int64(clamping: BigEndian.number(in: key, at: 0)) }
                return .stop
            }
            guard let first,
                let applied = try view.appliedProgress(ofTopic: place.topic, partition: place.partition)
            else { return nil }
            return (first, applied.offset)
        }
    }

    private func candidates(from start: Int64, to end: Int64, matching wanted: [UInt32]) throws -> [Int64] {
        var offsets: [Int64] = []
        var (lower, upper): ([UInt8], [UInt8]) = ([], [])
        BigEndian.append(start, to: &lower)
        BigEndian.append(end, to: &upper)
        try file.read { view throws(StoreError) in
            try view.scan(
                file.table(named: ReceiptTable.marks.rawValue), range: KeyRange(from: lower, upTo: upper)
            ) { key, stored in
                let head = RowChecksum.byteCount + RetentionSweep.timeBytes
                guard key.count >= 8, stored.count > head else { return .next }
                let marks = stored.extracting(droppingFirst: head)
                for mark in wanted where RecipientHashes.contains(mark, in: marks) {
                    offsets.append(Int64(clamping: BigEndian.number(in: key, at: 0)))
                    break
                }
                return .next
            }
        }
        return offsets
    }

    /// Returns the wanted pushes of a receipt. The result is empty if another recipient has the same mark.
    private func readPushes(
        at offset: Int64, app: String, where isWanted: (ReceiptLines.Addressee) -> Bool
    ) throws -> [TimelinePush] {
        var key: [UInt8] = []
        BigEndian.append(offset, to: &key)
        let found = try file.read { view throws(StoreError) -> (json: [UInt8], lines: [UInt8])? in
            guard
                let value = try view.value(
                    of: key.span, in: file.table(named: ReceiptTable.receipts.rawValue)),
                value.count >= RetentionSweep.timeBytes + 4
            else { return nil }
            var bytes = 0
            for index in RetentionSweep.timeBytes..<RetentionSweep.timeBytes + 4 {
                bytes = bytes << 8 | Int(value[index])
            }
            let rest = value.extracting(droppingFirst: RetentionSweep.timeBytes + 4)
            guard bytes <= rest.count else { return nil }
            return (
                [UInt8](copying: rest.extracting(first: bytes)),
                [UInt8](copying: rest.extracting(droppingFirst: bytes))
            )
        }
        guard let found, let receipt = Receipt.decodeIfValid(found.json, with: reader), receipt.app == app
        else {
            return []
        }
        return receipt.pushes(to: ReceiptLines.addressees(in: found.lines.span), where: isWanted)
    }
}
