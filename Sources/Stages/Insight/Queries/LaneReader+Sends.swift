internal import Identifiers
internal import RecordFormat
internal import Sends
internal import Store

extension LaneReader {
    /// The limit of one send's records: one or two verdicts, and one record for each lane.
    private static let recordsMax = 20_000
    /// The limit of rows about repetitions of one send. Further ones are not shown.
    private static let repetitionsMax = 200

    /// Finds the tallies and the progress of a send.
    func findSend(_ send: String, of app: String, in lane: OpenLane, into result: inout QueryResult) throws {
        let stored = StoredReceipts(environment: lane.receiptsEnvironment, reader: reader)
        for (environment, tally) in try stored.report(of: send, app: app).environments {
            result.tallies.append(
                QueryResult.EnvironmentTally(send: send, environment: environment, tally: tally))
        }
        for (key, tally) in try stored.repetitions(of: send, app: app, max: Self.repetitionsMax) {
            result.tallies.append(
                QueryResult.EnvironmentTally(send: key.send, environment: key.environment, tally: tally))
        }
        let range = KeyRange(prefix: ProgressRowMapping.recordsPrefix(app: app, send: send))
        for (_, value) in try rows(
            within: range, topic: .progress, table: .rows, in: lane, max: Self.recordsMax)
        {
            if let progress = ProgressRecord.decodeIfValid(value, with: reader) {
                result.progress.append(progress)
            }
        }
    }

    /// Lists the failed pushes of a send.
    func listFailures(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        guard let send = query.names.first else { return }
        let stored = StoredReceipts(environment: lane.receiptsEnvironment, reader: reader)
        // A lane without a receipt of the send need not be read.
        guard let tally = try stored.report(of: send, app: query.app).total else { return }
        let times = tally.acceptedAt...max(tally.acceptedAt, tally.newestReceiptAt)
        let found = try FailureFinder(lane: lane, reader: reader, budget: budget).failures(
            for: query, send: send, times: times)
        result.failures = found.entries
        if let cut = found.cut { result.cuts = [cut] }
    }

    /// Lists the ids of sends by their time.
    func listSends(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let prefix =
            query.group.map { ProgressRowMapping.groupPrefix(app: query.app, group: $0) }
            ?? ProgressRowMapping.timePrefix(app: query.app)
        try list(for: query, topic: .progress, table: .index, prefix: prefix, in: lane) { position, value in
            ListEntry(position: position, value: String(decoding: value, as: UTF8.self))
        } into: {
            result.sends.append($0)
        } onCut: {
            result.cuts = [$0]
        }
    }

    /// Lists groups by their newest send.
    func listGroups(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        try list(
            for: query, topic: .groups, table: .index,
            prefix: GroupRowMapping.timePrefix(app: query.app), in: lane
        ) { position, key in
            guard let key = unsafe key.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }) else { return nil }
            // If the whole group is also known, the list contains only the whole group.
            if key.recipient != nil, try scope(of: key.wholeGroup, in: lane) != nil { return nil }
            guard let scope = try scope(of: key, in: lane),
                query.code.map({ $0 == scope.row.stateName }) ?? true
            else { return nil }
            return ListEntry(position: position, value: scope)
        } into: {
            result.scopes.append($0)
        } onCut: {
            result.cuts = [$0]
        }
    }

    /// Finds the states of the named groups, and of one user in them.
    func findGroups(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        for name in query.names {
            try budget.spendRow()
            let groupKey = ScopeKey(app: query.app, group: name)
            for key in [groupKey] + (query.user.map { [groupKey.narrowed(to: .user($0))] } ?? []) {
                guard let scope = try scope(of: key, in: lane) else { continue }
                result.scopes.append(
                    ListEntry(position: ListPosition(at: scope.row.lastSendAt, tieBreaker: []), value: scope))
            }
        }
    }

    /// Returns nil for a group that no send has used. Phones of private groups name such a group.
    private func scope(of key: ScopeKey, in lane: OpenLane) throws -> QueryResult.GroupScope? {
        try value(of: GroupRowMapping.rowKey(of: key), topic: .groups, table: .rows, in: lane).flatMap {
            value in
            GroupRow.decodeIfValid(value, with: reader).flatMap { row in
                row.lastSendAt > 0 ? QueryResult.GroupScope(key: key, row: row) : nil
            }
        }
    }
}

extension GroupRow {
    /// The word for the state of the scope: "live" or "ended".
    var stateName: String { endVersion > 0 && endVersion >= generation ? "ended" : "live" }
}
