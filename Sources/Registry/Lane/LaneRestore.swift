package import Store

/// Fills an empty lane from the topic at full speed: everything is sorted first, on disk where memory
/// does not hold it, and then written once, from the first key to the last. Trees that are filled in
/// order are dense, and a page is written once instead of for each of its rows.
///
/// Nothing is in the lane's tables before `finish`, and the offset comes last: a process that dies in
/// between leaves tables without an offset, which the next opening empties. Where news are wanted, it ends
/// at the committed offset: the lane itself takes what lies above, and tells of it.
package final class LaneRestore {
    /// Memory for one sort; there are two of them at a time.
    package static let runBytesMax = 32 << 20
    /// Rows written in one transaction, whose memory the file keeps.
    private static let transactionRowsMax = 5000

    private let lane: Lane
    private let runBytesMax: Int
    private let patience: Patience
    private var changes: RowSorter

    /// The lane must hold nothing: `applied` is nil.
    ///
    /// - Parameter whenFull: called when a write has found no room: it waits and returns, and the write is
    ///   tried again, or throws to give up. Nothing that was read is lost meanwhile.
    package init(
        _ lane: Lane, runBytesMax: Int = LaneRestore.runBytesMax,
        whenFull: @escaping (StoreError) throws(StoreError) -> Void = LaneRestore.giveUp
    ) {
        patience = Patience(whenFull: whenFull)
        precondition(lane.applied == nil, "only an empty lane is restored")
        self.lane = lane
        self.runBytesMax = runBytesMax
        changes = RowSorter(in: lane.directory, runBytesMax: runBytesMax, patience)
    }

    package static func giveUp(_ error: StoreError) throws(StoreError) { throw error }

    /// Takes one record of the topic, in the topic's order. When it throws, the record is not taken:
    /// give it again when there is room.
    package func hear(key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64) throws(StoreError) {
        try changes.makeRoom()
        try lane.decode(key: key, value: value, offset: offset, into: &changes.batch)
    }

    /// Writes the tables, and last the offset. When it throws, the lane holds nothing usable: close it,
    /// open it, begin anew.
    package func finish(_ now: Applied) throws(StoreError) {
        precondition(now.offset <= lane.newsBegins ?? .max, "what is restored is no news")
        var derived = RowSorter(in: lane.directory, runBytesMax: runBytesMax, patience)
        try writeFirst(&derived)
        let contested = try writeDerived(&derived)
        while true {
            do throws(StoreError) {
                try settle(contested, try lane.identified(now))
                break
            } catch {
                try patience.bear(error)
            }
        }
        lane.applied = now.offset
    }

    /// Starts, activities and profiles come in the order of their tables; updates and the index of tokens
    /// follow from them in another.
    private func writeFirst(_ derived: inout RowSorter) throws(StoreError) {
        var output = LaneOutput(lane, rowsMax: Self.transactionRowsMax, patience)
        let tables = lane.tables
        var tableKey: [UInt8] = []
        var scratch: [UInt8] = []
        try changes.drain { change, value throws(StoreError) in
            guard let value else { return }
            let key = change.extracting(1..<change.count)
            switch RowKind(rawValue: change[0]) {
            case .start:
                try output.put(key, value, in: tables.starts)
                guard TokenValue.hasToken(value) else { return }
                TableKey.token(.start, key, hash: TokenValue.hash(value), into: &tableKey)
                try derived.put(in: Derived.token, key: tableKey.span, value: Span(), scratch: &scratch)
            case .update:
                var end = 0
                NameCode.skip(value, at: &end)
                let group = value.extracting(0..<end)
                let row = value.extracting(end..<value.count)
                try output.put(key, group, in: tables.activities)
                TableKey.update(ofActivity: key, group: group, into: &tableKey)
                try derived.put(in: Derived.update, key: tableKey.span, value: row, scratch: &scratch)
                TableKey.recipient(ofActivity: key, into: &tableKey)
                try derived.put(in: Derived.recipient, key: tableKey.span, value: Span(), scratch: &scratch)
                guard TokenValue.hasToken(row) else { return }
                TableKey.token(.update, key, hash: TokenValue.hash(row), into: &tableKey)
                try derived.put(in: Derived.token, key: tableKey.span, value: Span(), scratch: &scratch)
            case .profile: try output.put(key, value, in: tables.profiles)
            case nil: preconditionFailure("a change of no kind")
            }
        }
        try output.flush()
    }

    /// Returns the tokens that more than one row has, by the beginning of their keys.
    private func writeDerived(_ derived: inout RowSorter) throws(StoreError) -> [[UInt8]] {
        var output = LaneOutput(lane, rowsMax: Self.transactionRowsMax, patience)
        let tables = lane.tables
        var contested: [[UInt8]] = []
        var last: [UInt8] = []
        try derived.drain { change, value throws(StoreError) in
            let key = change.extracting(1..<change.count)
            guard let value else { return }
            if change[0] == Derived.update.rawValue { return try output.put(key, value, in: tables.updates) }
            if change[0] == Derived.recipient.rawValue {
                return try output.put(key, value, in: tables.recipients)
            }
            try output.put(key, value, in: tables.tokens)
            let prefix = TableKey.tokenPrefix(key)
            if prefix.equals(last.span) {
                if contested.last != last { contested.append(last) }
            } else {
                last.removeAll(keepingCapacity: true)
                last.append(prefix)
            }
        }
        try output.flush()
        return contested
    }

    private func settle(_ contested: [[UInt8]], _ now: Applied) throws(StoreError) {
        let (tables, partition) = (lane.tables, lane.partition)
        let topicKeys = TopicKeys(lane.names)
        var rest = contested[...]
        repeat {
            let part = rest.prefix(Self.transactionRowsMax)
            rest = rest.dropFirst(part.count)
            let isLast = rest.isEmpty
            try lane.file.write { transaction throws(StoreError) in
                var contests = Contests(tables, topicKeys)
                for prefix in part { contests.note(prefix: prefix) }
                try contests.settle(&transaction)
                if isLast { try transaction.setApplied(now, of: partition) }
            }
        } while !rest.isEmpty
    }

    /// The tables of the second sort, in the order in which they are written.
    fileprivate enum Derived: UInt8 {
        case update = 1
        case recipient = 2
        case token = 3
    }
}

extension RowSorter {
    fileprivate mutating func put(
        in table: LaneRestore.Derived, key: Span<UInt8>, value: Span<UInt8>, scratch: inout [UInt8]
    ) throws(StoreError) {
        scratch.removeAll(keepingCapacity: true)
        scratch.append(table.rawValue)
        scratch.append(key)
        try put(scratch.span, value)
    }
}
