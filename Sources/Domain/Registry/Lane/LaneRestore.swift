package import Store

internal import struct Kafka.TopicPartition

/// The fast restore of an empty lane from the topic. It sorts all changes first, on disk if memory is too
/// small, and then writes them once in key order. Trees that are filled in order are dense, and each page is
/// written once instead of once per row.
///
/// The lane's tables stay empty before `finish`, and the offset is written last. If the process dies in
/// between, the tables have no offset, and the next opening empties them. If the caller needs news, the
/// restore ends at the committed offset. The lane itself takes the later records and reports their news.
package final class LaneRestore {
    /// The memory limit of one sort. Two sorts exist at a time.
    package static let runBytesMax = 32 << 20
    /// The rows of one transaction. The file keeps the memory of a transaction.
    private static let transactionRowsMax = 5000

    private let lane: Lane
    private let runBytesMax: Int
    private let retryPolicy: DiskFullRetryPolicy
    private var changes: RowSorter

    /// Creates a restore. The lane must be empty: `applied` is nil.
    ///
    /// - Parameter whenFull: Called if a write finds the disk full. It waits and returns to repeat the write,
    ///   or throws to give up. Records that were read are not lost.
    package init(
        lane: Lane, runBytesMax: Int = LaneRestore.runBytesMax,
        whenFull: @escaping (StoreError) throws(StoreError) -> Void = LaneRestore.giveUp
    ) {
        retryPolicy = DiskFullRetryPolicy(whenFull: whenFull)
        precondition(lane.appliedOffset == nil, "only an empty lane is restored")
        self.lane = lane
        self.runBytesMax = runBytesMax
        changes = RowSorter(in: lane.directory, runBytesMax: runBytesMax, retryPolicy: retryPolicy)
    }

    package static func giveUp(on error: StoreError) throws(StoreError) { throw error }

    /// Takes the next record of the topic. If it throws, the record is not taken. Call it again when the disk
    /// has space.
    package func add(key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64) throws(StoreError) {
        try changes.flushIfFull()
        try lane.decode(key: key, value: value, offset: offset, into: &changes.batch)
    }

    /// Writes the tables and then the offset. If it throws, the lane is unusable: close it, open it and
    /// restore again.
    package func finish(_ now: AppliedProgress) throws(StoreError) {
        precondition(now.offset <= lane.changesReportedFrom ?? .max, "a restore must end before the news")
        var derived = RowSorter(in: lane.directory, runBytesMax: runBytesMax, retryPolicy: retryPolicy)
        try writePrimaryTables(collecting: &derived)
        let contested = try writeDerivedTables(from: &derived)
        while true {
            do throws(StoreError) {
                try resolveConflicts(contested, applied: try lane.addTopicIdentity(to: now))
                break
            } catch {
                try retryPolicy.waitToRetry(after: error)
            }
        }
        lane.appliedOffset = now.offset
    }

    /// Starts, activities and profiles are in the order of their tables. Updates and the token index need a
    /// second sort.
    private func writePrimaryTables(collecting derived: inout RowSorter) throws(StoreError) {
        var output = LaneTableWriter(lane: lane, rowsMax: Self.transactionRowsMax, retryPolicy: retryPolicy)
        let tables = lane.tables
        var tableKey: [UInt8] = []
        var scratch: [UInt8] = []
        try changes.drain { change, value throws(StoreError) in
            guard let value else { return }
            let key = change.extracting(1..<change.count)
            switch RowKind(rawValue: change[0]) {
            case .start:
                try output.put(key, value: value, in: tables.starts)
                guard TokenValue.hasToken(value) else { return }
                TableKey.writeTokenKey(
                    of: .start, key: key, hash: TokenValue.tokenHash(in: value), into: &tableKey)
                try derived.put(in: DerivedTable.token, key: tableKey.span, value: Span(), scratch: &scratch)
            case .update:
                var end = 0
                NameCode.skip(value, at: &end)
                let group = value.extracting(0..<end)
                let row = value.extracting(end..<value.count)
                try output.put(key, value: group, in: tables.activities)
                TableKey.writeUpdateKey(ofActivity: key, group: group, into: &tableKey)
                try derived.put(in: DerivedTable.update, key: tableKey.span, value: row, scratch: &scratch)
                TableKey.writeRecipientKey(ofActivity: key, into: &tableKey)
                try derived.put(
                    in: DerivedTable.recipient, key: tableKey.span, value: Span(), scratch: &scratch)
                guard TokenValue.hasToken(row) else { return }
                TableKey.writeTokenKey(
                    of: .update, key: key, hash: TokenValue.tokenHash(in: row), into: &tableKey)
                try derived.put(in: DerivedTable.token, key: tableKey.span, value: Span(), scratch: &scratch)
            case .profile: try output.put(key, value: value, in: tables.profiles)
            case nil: preconditionFailure("a change of no kind")
            }
        }
        try output.flush()
    }

    /// Returns the key prefixes of tokens that several rows have.
    private func writeDerivedTables(from derived: inout RowSorter) throws(StoreError) -> [[UInt8]] {
        var output = LaneTableWriter(lane: lane, rowsMax: Self.transactionRowsMax, retryPolicy: retryPolicy)
        let tables = lane.tables
        var contested: [[UInt8]] = []
        var last: [UInt8] = []
        try derived.drain { change, value throws(StoreError) in
            let key = change.extracting(1..<change.count)
            guard let value else { return }
            if change[0] == DerivedTable.update.rawValue {
                return try output.put(key, value: value, in: tables.updates)
            }
            if change[0] == DerivedTable.recipient.rawValue {
                return try output.put(key, value: value, in: tables.recipients)
            }
            try output.put(key, value: value, in: tables.tokens)
            let prefix = TableKey.tokenPrefix(of: key)
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

    private func resolveConflicts(_ contested: [[UInt8]], applied now: AppliedProgress) throws(StoreError) {
        let (tables, partition) = (lane.tables, lane.partition)
        let topicKeys = TopicKeyBuilder(names: lane.names)
        var rest = contested[...]
        repeat {
            let part = rest.prefix(Self.transactionRowsMax)
            rest = rest.dropFirst(part.count)
            let isLast = rest.isEmpty
            try lane.file.write { transaction throws(StoreError) in
                var contests = TokenConflicts(tables: tables, topicKeys: topicKeys)
                for prefix in part { contests.markTouched(prefix: prefix) }
                try contests.resolve(in: &transaction)
                if isLast { try transaction.setApplied(now, of: partition.topic, partition.partition) }
            }
        } while !rest.isEmpty
    }

    /// The tables of the second sort, in the order in which they are written.
    fileprivate enum DerivedTable: UInt8 {
        case update = 1
        case recipient = 2
        case token = 3
    }
}

extension RowSorter {
    fileprivate mutating func put(
        in table: LaneRestore.DerivedTable, key: Span<UInt8>, value: Span<UInt8>, scratch: inout [UInt8]
    ) throws(StoreError) {
        scratch.removeAll(keepingCapacity: true)
        scratch.append(table.rawValue)
        scratch.append(key)
        try put(scratch.span, value: value)
    }
}
