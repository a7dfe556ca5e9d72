internal import JSON
internal import Jobs
internal import Kafka
internal import RecordFormat
internal import Store

/// Finds the failed pushes of one send in the receipts of a lane: those that APNs or Flotilla rejected, that expired,
/// and those without a known result. It reads the receipts from the send's acceptance to its newest receipt.
struct FailureFinder {
    /// The number of receipts that are read in one transaction.
    private static let pageRowsMax = 500
    /// Receipts are nearly in time order. The search begins this much before the send's acceptance, and ends this much
    /// after its newest receipt.
    private static let disorderMilliseconds: Int64 = 60_000
    // The parts of a position's tie breaker: the lane, the offset in eight bytes, and the line.
    private static let laneBytes = 4
    private static let lineBytes = 4
    private static let tieBreakerBytes = laneBytes + 8 + lineBytes
    private static let failures: Set<ReceiptOutcome> = [.rejected, .expired, .unknown]

    private let file: Store.LMDBEnvironment
    private let lane: Int32
    private let reader: JSONReader
    private let budget: QueryBudget

    init(lane: OpenLane, reader: JSONReader, budget: QueryBudget) {
        file = lane.receiptsEnvironment
        self.lane = lane.partition
        self.reader = reader
        self.budget = budget
    }

    /// Returns the failures in the order of the receipts, from the query's position on.
    ///
    /// - Parameter times: The times of the send's acceptance and of its newest receipt in this lane.
    func failures(
        for query: LaneQuery, send: String, times: ClosedRange<Int64>
    ) throws -> LaneList<TimelinePush> {
        var list = LaneList<TimelinePush>()
        guard let begin = try firstOffset(for: query, from: times.lowerBound) else { return list }
        let end = times.upperBound + Self.disorderMilliseconds
        var lastRead: ListPosition?
        var unread: KeyRange? = KeyRange(from: Self.key(of: begin))
        while let range = unread {
            let page = try rows(of: .receipts, within: range, max: Self.pageRowsMax)
            for row in page.rows {
                guard budget.countRow() else {
                    try list.cut(behind: lastRead)
                    return list
                }
                if row.at > end { return list }
                let offset = Int64(clamping: BigEndian.number(in: row.key.span, at: 0))
                // The position behind all lines of the receipt.
                lastRead = Self.position(lane: lane, offset: offset, line: .max)
                list.entries += entries(ofReceipt: row.value, at: offset, of: send, for: query)
                if list.entries.count >= query.limit { return list }
            }
            unread = page.rest
        }
        return list
    }

    // MARK: Positions

    /// Returns the position of a line: by lane, then by offset and line. It has no time, because receipts of one lane
    /// are not exactly in time order.
    private static func position(lane: Int32, offset: Int64, line: UInt32) -> ListPosition {
        var tieBreaker: [UInt8] = []
        // The list begins with the oldest failure, and tie breakers sort the newest first. So each part is inverted.
        BigEndian.append(Int32.max - lane, to: &tieBreaker)
        BigEndian.append(Int64.max - offset, to: &tieBreaker)
        BigEndian.append(UInt32.max - line, to: &tieBreaker)
        return ListPosition(at: 0, tieBreaker: tieBreaker)
    }

    private static func key(of offset: Int64) -> [UInt8] {
        var key: [UInt8] = []
        BigEndian.append(offset, to: &key)
        return key
    }

    /// Returns the offset at which the search begins, or nil if the query's position is behind this lane.
    private func firstOffset(for query: LaneQuery, from time: Int64) throws -> Int64? {
        let first = try offset(notBefore: time - Self.disorderMilliseconds)
        guard let after = query.after, after.tieBreaker.count == Self.tieBreakerBytes else { return first }
        let ownLane = Self.position(lane: lane, offset: 0, line: 0).tieBreaker.prefix(Self.laneBytes)
        let cursorLane = after.tieBreaker.prefix(Self.laneBytes)
        if cursorLane.elementsEqual(ownLane) {
            let invertedOffset = BigEndian.number(in: after.tieBreaker.span, at: Self.laneBytes)
            let offset = Int64.max - Int64(clamping: invertedOffset)
            // Behind the last possible line nothing of the receipt is left.
            let isReceiptOver = after.tieBreaker.suffix(Self.lineBytes).allSatisfy { $0 == 0 }
            // A caller can write any position, also the one behind the largest offset.
            return max(first, isReceiptOver && offset < .max ? offset + 1 : offset)
        }
        // Earlier pages contain the lanes before the lane of the cursor. A later lane has smaller bytes.
        return ownLane.lexicographicallyPrecedes(cursorLane) ? first : nil
    }

    /// Returns the first offset whose receipt has at least this time, by bisection.
    private func offset(notBefore time: Int64) throws -> Int64 {
        guard let first = try row(from: 0) else { return 0 }
        var low = first.offset
        // The steps grow until one reaches a receipt that is late enough, or the end.
        var step: Int64 = 1
        while let row = try row(from: low + step), row.at < time {
            low = row.offset
            step *= 2
        }
        var high = low + step
        while low < high {
            let middle = low + (high - low) / 2
            if let row = try row(from: middle), row.at < time { low = row.offset + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Rows

    /// Returns the offset and the time of the first receipt from an offset on, or nil behind the last one. The rows of
    /// hashes have the same keys and times as the receipts, and are shorter.
    private func row(from offset: Int64) throws -> (offset: Int64, at: Int64)? {
        try rows(of: .recipientHashes, within: KeyRange(from: Self.key(of: offset)), max: 1).rows.first.map {
            (Int64(clamping: BigEndian.number(in: $0.key.span, at: 0)), $0.at)
        }
    }

    private func rows(of table: ReceiptTable, within range: KeyRange, max: Int) throws -> RowPage {
        try RowPage(of: table.rawValue, in: file, within: range, rowsMax: max)
    }

    /// Returns the failures of a receipt. The result is empty if the receipt is about another send.
    ///
    /// - Parameter value: The row of the receipt.
    private func entries(
        ofReceipt value: [UInt8], at offset: Int64, of send: String, for query: LaneQuery
    ) -> [ListEntry<TimelinePush>] {
        guard let (json, lines) = PushFinder.parts(of: value.span),
            let receipt = Receipt.decodeIfValid(json, with: reader), receipt.app == query.app,
            receipt.send == send
        else { return [] }
        let pushes = receipt.pushes(to: ReceiptLines.addressees(in: lines.span), where: { _ in true })
        return pushes.enumerated().compactMap { line, push in
            let position = Self.position(lane: lane, offset: offset, line: UInt32(clamping: line))
            guard Self.failures.contains(push.outcome), query.code.map({ $0 == push.reason }) ?? true,
                query.after.map({ position.isBehind($0) }) ?? true
            else { return nil }
            return ListEntry(position: position, value: push)
        }
    }
}

extension ListPosition {
    /// Whether it comes after the other position in a list of failures, which has the oldest first.
    fileprivate func isBehind(_ other: ListPosition) -> Bool { isNewer(than: other) }
}
