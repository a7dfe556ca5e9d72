package import Store

internal import struct Kafka.TopicPartition

/// The restore of an empty lane from the start of the topic. The caller passes every record to `add` and then
/// calls `finish`. The restore sorts all changes first, on disk if memory is too small, and then writes each
/// table once in key order. B+ trees that are filled in order are dense, and each page is written once instead
/// of once per row.
///
/// The lane's tables stay empty until `finish`, and the offset is written last. If the process dies in
/// between, the tables have no offset, and the next opening empties them. A lane with `changesReportedFrom`
/// is restored up to that offset at most, because a restore reports no changes. The later records go to
/// `Lane.apply`.
package final class LaneRestore {
    /// The memory limit of one sort. Two sorts exist at a time.
    package static let runBytesMax = 32 << 20
    /// The maximum number of rows in one transaction. The file keeps the memory that its largest transaction
    /// used.
    private static let transactionRowsMax = 5000

    private let lane: Lane
    private let runBytesMax: Int
    private let retryPolicy: DiskFullRetryPolicy
    private var changes: RowSorter

    /// Creates a restore. The lane must be empty: its `appliedOffset` is nil.
    ///
    /// - Parameter whenFull: Called if a write finds the disk full. It waits and returns to repeat the write,
    ///   or throws to give up. Records that were read are not lost.
    package init(
        lane: Lane, runBytesMax: Int = LaneRestore.runBytesMax,
        whenFull: @escaping (StoreError) throws(StoreError) -> Void = DiskFullRetryPolicy.giveUp
    ) {
        retryPolicy = DiskFullRetryPolicy(whenFull: whenFull)
        precondition(lane.appliedOffset == nil, "only an empty lane is restored")
        self.lane = lane
        self.runBytesMax = runBytesMax
        changes = RowSorter(in: lane.directory, runBytesMax: runBytesMax, retryPolicy: retryPolicy)
    }

    /// Takes the next record of the topic. If it throws, the record is not taken. Call it again when the disk
    /// has space.
    package func add(key: Span<UInt8>?, value: Span<UInt8>?, offset: Int64) throws(StoreError) {
        try changes.flushIfFull()
        try lane.decode(key: key, value: value, offset: offset, into: &changes.batch)
    }

    /// Writes the tables and then the offset. If it throws, the lane is unusable: close it, open it and
    /// restore again.
    package func finish(_ progress: AppliedProgress) throws(StoreError) {
        precondition(
            progress.offset <= lane.changesReportedFrom ?? .max,
            "a restore must end before the changes that the lane reports")
        var derivedRows = RowSorter(in: lane.directory, runBytesMax: runBytesMax, retryPolicy: retryPolicy)
        try writePrimaryTables(collecting: &derivedRows)
        var memberCounts = RowSorter(in: lane.directory, runBytesMax: runBytesMax, retryPolicy: retryPolicy)
        let sharedTokens = try writeDerivedTables(from: &derivedRows, counting: &memberCounts)
        try write(memberCounts: &memberCounts)
        while true {
            do throws(StoreError) {
                try resolveConflicts(of: sharedTokens, applied: try lane.addTopicIdentity(to: progress))
                break
            } catch {
                try retryPolicy.waitToRetry(after: error)
            }
        }
        lane.appliedOffset = progress.offset
    }

    /// Writes `starts`, `activities` and `profiles`, whose keys are in the order of the changes. The keys of
    /// `updates` and `tokens` are not, so their rows are collected for a second sort.
    private func writePrimaryTables(collecting derivedRows: inout RowSorter) throws(StoreError) {
        var output = SortedTableWriter(
            file: lane.file, rowsMax: Self.transactionRowsMax, retryPolicy: retryPolicy)
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
                try derivedRows.put(
                    in: DerivedTable.tokens, key: tableKey.span, value: Span(), scratch: &scratch)
            case .update:
                var groupEnd = 0
                NameCode.skip(value, at: &groupEnd)
                let group = value.extracting(0..<groupEnd)
                let row = value.extracting(groupEnd..<value.count)
                try output.put(key, value: group, in: tables.activities)
                TableKey.writeUpdateKey(ofActivity: key, group: group, into: &tableKey)
                try derivedRows.put(
                    in: DerivedTable.updates, key: tableKey.span, value: row, scratch: &scratch)
                guard TokenValue.hasToken(row) else { return }
                TableKey.writeTokenKey(
                    of: .update, key: key, hash: TokenValue.tokenHash(in: row), into: &tableKey)
                try derivedRows.put(
                    in: DerivedTable.tokens, key: tableKey.span, value: Span(), scratch: &scratch)
            case .profile: try output.put(key, value: value, in: tables.profiles)
            case nil: preconditionFailure("the change has no row kind")
            }
        }
        try output.flush()
    }

    /// Writes `updates` and `tokens`, and collects the number of rows of each group. Returns the tokens that several
    /// rows have, as prefixes of their keys in `tokens`.
    private func writeDerivedTables(
        from derivedRows: inout RowSorter, counting memberCounts: inout RowSorter
    ) throws(StoreError) -> [[UInt8]] {
        var output = SortedTableWriter(
            file: lane.file, rowsMax: Self.transactionRowsMax, retryPolicy: retryPolicy)
        let tables = lane.tables
        var sharedTokens: [[UInt8]] = []
        var previousToken: [UInt8] = []
        var (group, memberCount): ([UInt8], Int) = ([], 0)
        try derivedRows.drain { change, value throws(StoreError) in
            let key = change.extracting(1..<change.count)
            guard let value else { return }
            // The rows of `updates` come first, group by group.
            if change[0] == DerivedTable.updates.rawValue {
                let rowGroup = MemberCounts.group(of: key)
                if !rowGroup.equals(group.span) {
                    try memberCounts.put(group, count: memberCount)
                    (group, memberCount) = (Array(rowGroup), 0)
                }
                memberCount += 1
                return try output.put(key, value: value, in: tables.updates)
            }
            // The rows of `tokens` follow. Those of one token are neighbors.
            try output.put(key, value: value, in: tables.tokens)
            let token = TableKey.tokenPrefix(of: key)
            if token.equals(previousToken.span) {
                if sharedTokens.last != previousToken { sharedTokens.append(previousToken) }
            } else {
                previousToken.removeAll(keepingCapacity: true)
                previousToken.append(token)
            }
        }
        try output.flush()
        try memberCounts.put(group, count: memberCount)
        return sharedTokens
    }

    private func write(memberCounts: inout RowSorter) throws(StoreError) {
        var output = SortedTableWriter(
            file: lane.file, rowsMax: Self.transactionRowsMax, retryPolicy: retryPolicy)
        try memberCounts.drain { group, value throws(StoreError) in
            if let value { try output.put(group, value: value, in: lane.tables.groups) }
        }
        try output.flush()
    }

    /// Decides the conflicts of the tokens, and writes the progress in the last transaction.
    private func resolveConflicts(
        of sharedTokens: [[UInt8]], applied progress: AppliedProgress
    ) throws(StoreError) {
        let (tables, partition) = (lane.tables, lane.partition)
        let topicKeys = TopicKeyBuilder(names: lane.names)
        var remainingTokens = sharedTokens[...]
        repeat {
            let tokens = remainingTokens.prefix(Self.transactionRowsMax)
            remainingTokens = remainingTokens.dropFirst(tokens.count)
            let isLast = remainingTokens.isEmpty
            try lane.file.write { transaction throws(StoreError) in
                var conflicts = TokenConflicts(tables: tables, topicKeys: topicKeys)
                for prefix in tokens { conflicts.markTouched(prefix: prefix) }
                try conflicts.resolve(in: &transaction)
                if isLast {
                    try transaction.setAppliedProgress(
                        progress, ofTopic: partition.topic, partition: partition.partition)
                }
            }
        } while !remainingTokens.isEmpty
    }

    /// The tables of the second sort. The number is the first byte of a row's key in the sort, so the tables
    /// are written one after the other.
    fileprivate enum DerivedTable: UInt8 {
        case updates = 1
        case tokens = 2
    }
}

extension RowSorter {
    /// Adds the number of a group's rows, except before the first group.
    fileprivate mutating func put(_ group: [UInt8], count: Int) throws(StoreError) {
        if count > 0 { try put(group.span, value: MemberCounts.value(count).span) }
    }

    /// - Parameter scratch: A buffer that the calls reuse.
    fileprivate mutating func put(
        in table: LaneRestore.DerivedTable, key: Span<UInt8>, value: Span<UInt8>, scratch: inout [UInt8]
    ) throws(StoreError) {
        scratch.removeAll(keepingCapacity: true)
        scratch.append(table.rawValue)
        scratch.append(key)
        try put(scratch.span, value: value)
    }
}
