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
    /// The size of a position's tie breaker: the lane in four bytes, the offset in eight, and the line in four.
    private static let tieBreakerBytes = 16
    private static let failures: Set<ReceiptOutcome> = [.rejected, .expired, .unknown]

    private let file: Store.LMDBEnvironment
    private let lane: Int32
    private let reader: JSONReader
    private let budget: QueryBudget

    /// The failures of one lane, and the position behind which receipts were not read because the budget was used up.
    struct FoundFailures {
        var entries: [ListEntry<TimelinePush>] = []
        var cut: ListPosition?
    }

    init(lane: OpenLane, reader: JSONReader, budget: QueryBudget) {
        file = lane.receiptsEnvironment
        self.lane = lane.partition
        self.reader = reader
        self.budget = budget
    }

    /// Returns the failures in the order of the receipts, from the query's position on.
    ///
    /// - Parameter times: The times of the send's acceptance and of its newest receipt in this lane.
    func failures(for query: LaneQuery, send: String, times: ClosedRange<Int64>) throws -> FoundFailures {
        guard let begin = try firstOffset(for: query, from: times.lowerBound) else { return FoundFailures() }
        let end = times.upperBound + Self.disorderMilliseconds
        var range = KeyRange(from: Self.key(of: begin))
        var found = FoundFailures()
        var lastRead: ListPosition?
        var isOver = false
        while !isOver, found.entries.count < query.limit {
            let page = try rows(within: range)
            isOver = page.count < Self.pageRowsMax
            for row in page {
                guard budget.countRow() else {
                    // Without any progress the next page would end here again.
                    guard let lastRead else { throw QueryLimit.time }
                    found.cut = lastRead
                    return found
                }
                if row.at > end {
                    isOver = true
                    break
                }
                let position = Self.position(lane: lane, offset: row.offset, line: .max)
                lastRead = position
                found.entries += entries(in: row, of: send, for: query)
                if found.entries.count >= query.limit { break }
                range.advance(past: Self.key(of: row.offset).span)
            }
        }
        return found
    }

    // MARK: Positions

    /// Returns the position of a line: by lane, then by offset and line. It has no time, because receipts of one lane
    /// are not exactly in time order.
    private static func position(lane: Int32, offset: Int64, line: UInt32) -> ListPosition {
        var tieBreaker: [UInt8] = []
        // The list is the oldest first, and a tie breaker sorts the newest first.
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
        let begin = Self.position(lane: lane, offset: 0, line: 0).tieBreaker
        let cursorLane = after.tieBreaker.prefix(4)
        if cursorLane.elementsEqual(begin.prefix(4)) {
            let offset = Int64.max - Int64(clamping: BigEndian.number(in: after.tieBreaker.span, at: 4))
            // Behind the last possible line nothing of the receipt is left.
            let isReceiptOver = after.tieBreaker.suffix(4).allSatisfy { $0 == 0 }
            return max(first, isReceiptOver ? offset + 1 : offset)
        }
        // Earlier pages contain the lanes before the cursor's.
        return Array(begin.prefix(4)).lexicographicallyPrecedes(cursorLane) ? first : nil
    }

    /// Returns the first offset whose receipt has at least this time, by bisection.
    private func offset(notBefore time: Int64) throws -> Int64 {
        guard let first = try row(from: 0) else { return 0 }
        var (low, high) = (first.offset, Int64.max)
        // Finds an offset behind the last row.
        var step: Int64 = 1
        while let row = try row(from: low + step), row.at < time {
            low = row.offset
            step *= 2
        }
        high = low + step
        while low < high {
            let middle = low + (high - low) / 2
            if let row = try row(from: middle), row.at < time { low = row.offset + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Rows

    private struct Row {
        var offset: Int64
        /// Milliseconds since 1970.
        var at: Int64
        /// The length of the JSON, the JSON and the header `to`.
        var value: [UInt8]
    }

    /// Returns the offset and the time of the first receipt from an offset on, or nil behind the last one.
    private func row(from offset: Int64) throws -> (offset: Int64, at: Int64)? {
        var found: (Int64, Int64)?
        try file.read { view throws(StoreError) in
            try view.scan(
                file.table(named: ReceiptTable.recipientHashes.rawValue),
                range: KeyRange(from: Self.key(of: offset))
            ) { key, stored in
                guard key.count >= 8, stored.count >= RowChecksum.byteCount + RetentionSweep.timeByteCount
                else { return .next }
                found = (
                    Int64(clamping: BigEndian.number(in: key, at: 0)),
                    Int64(clamping: BigEndian.number(in: stored, at: RowChecksum.byteCount))
                )
                return .stop
            }
        }
        return found
    }

    private func rows(within range: KeyRange) throws -> [Row] {
        var range = range
        var rows: [Row] = []
        _ = try file.read { view throws(StoreError) in
            try view.readPage(
                of: file.table(named: ReceiptTable.receipts.rawValue), range: &range,
                rowsMax: Self.pageRowsMax
            ) { key, stored in
                let prefixBytes = RowChecksum.byteCount + RetentionSweep.timeByteCount
                guard key.count >= 8, stored.count > prefixBytes,
                    RowChecksum.isValid(key: key, stored: stored)
                else { return }
                rows.append(
                    Row(
                        offset: Int64(clamping: BigEndian.number(in: key, at: 0)),
                        at: Int64(clamping: BigEndian.number(in: stored, at: RowChecksum.byteCount)),
                        value: [UInt8](copying: stored.extracting(droppingFirst: prefixBytes))))
            }
        }
        return rows
    }

    /// Returns the failures of a receipt. The result is empty if the receipt is about another send.
    private func entries(in row: Row, of send: String, for query: LaneQuery) -> [ListEntry<TimelinePush>] {
        guard let (json, lines) = PushFinder.parts(of: row.value.span),
            let receipt = Receipt.decodeIfValid(json, with: reader), receipt.app == query.app,
            receipt.send == send
        else { return [] }
        let pushes = receipt.pushes(to: ReceiptLines.addressees(in: lines.span), where: { _ in true })
        return pushes.enumerated().compactMap { line, push in
            let position = Self.position(lane: lane, offset: row.offset, line: UInt32(clamping: line))
            guard Self.failures.contains(push.outcome), query.code.map({ $0 == push.reason }) ?? true,
                query.after.map({ position.isBehind($0) }) ?? true
            else { return nil }
            return ListEntry(position: position, value: push)
        }
    }
}

extension ListPosition {
    /// Whether it comes after the other in an oldest-first list.
    fileprivate func isBehind(_ other: ListPosition) -> Bool { isNewer(than: other) }
}
