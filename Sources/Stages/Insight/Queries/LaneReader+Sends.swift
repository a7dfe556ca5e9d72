internal import Identifiers
internal import RecordFormat
internal import Sends
internal import Store

// Sends, their outcomes, and the groups that they change.

extension LaneReader {
    /// The limit of one send's records: one or two verdicts, and one record for each lane.
    private static let recordsMax = 20_000
    /// The limit of rows about resends of one send. Further ones are not shown.
    private static let resendsMax = 200

    /// Finds the tallies and the progress of the named sends.
    func findSends(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        for send in query.names {
            try budget.spendRow()
            try findSend(send, of: query.app, in: lane, into: &result)
        }
    }

    private func findSend(
        _ send: String, of app: String, in lane: OpenLane, into result: inout QueryResult
    ) throws {
        let stored = StoredReceipts(file: lane.receiptsEnvironment, reader: reader)
        for (environment, tally) in try stored.report(of: send, app: app).environments {
            result.tallies.append(
                QueryResult.EnvironmentTally(send: send, environment: environment, tally: tally))
        }
        for (key, tally) in try stored.derivedSends(of: send, app: app, max: Self.resendsMax) {
            result.tallies.append(
                QueryResult.EnvironmentTally(send: key.send, environment: key.environment, tally: tally))
        }
        let range = KeyRange(prefix: ProgressRowMapping.recordsPrefix(app: app, send: send))
        for row in try firstRows(
            Self.recordsMax, within: range, topic: .progress, table: .rows, in: lane)
        {
            if let progress = ProgressRecord.decodeIfValid(row.value, with: reader) {
                result.progress.append(progress)
            }
        }
    }

    /// Lists the failed pushes of a send.
    func listFailures(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        guard let send = query.names.first else { return }
        let stored = StoredReceipts(file: lane.receiptsEnvironment, reader: reader)
        // A lane without a receipt of the send need not be read.
        guard let tally = try stored.report(of: send, app: query.app).total else { return }
        let times = tally.acceptedAt...max(tally.acceptedAt, tally.newestReceiptAt)
        let list = try FailureFinder(lane: lane, reader: reader, budget: budget).failures(
            for: query, send: send, times: times)
        result.failures = list.entries
        result.cuts = list.cuts
    }

    /// Finds the periods of the app's series.
    func findPeriods(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        guard let resolution = query.code.flatMap(SeriesResolution.init) else { return }
        let stored = StoredReceipts(file: lane.receiptsEnvironment, reader: reader)
        for period in try stored.periods(of: query.app, resolution: resolution) {
            try budget.spendRow()
            if period.at >= query.from, period.at < query.to { result.periods.append(period) }
        }
    }

    /// Lists the ids of sends by their time.
    func listSends(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let prefix =
            query.group.map { ProgressRowMapping.groupPrefix(app: query.app, group: $0) }
            ?? ProgressRowMapping.timePrefix(app: query.app)
        let list = try list(for: query, topic: .progress, table: .index, prefix: prefix, in: lane) {
            String(decoding: $0, as: UTF8.self)
        }
        result.sends = list.entries
        result.cuts = list.cuts
    }

    // MARK: Groups

    /// Lists groups by their newest send.
    func listGroups(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let list = try list(
            for: query, topic: .groups, table: .index, prefix: GroupRowMapping.indexPrefix(app: query.app),
            in: lane
        ) { key -> QueryResult.GroupScope? in
            guard let key = unsafe key.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }) else { return nil }
            // If the whole group is also known, the list contains only the whole group.
            if key.recipient != nil, try scope(of: key.wholeGroup, in: lane) != nil { return nil }
            guard let scope = try scope(of: key, in: lane),
                query.code.map({ $0 == scope.row.stateName }) ?? true
            else { return nil }
            return scope
        }
        result.scopes = list.entries
        result.cuts = list.cuts
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
        let value = try value(of: GroupRowMapping.rowKey(of: key), topic: .groups, table: .rows, in: lane)
        guard let value, let row = GroupRow.decodeIfValid(value, with: reader), row.lastSendAt > 0 else {
            return nil
        }
        return QueryResult.GroupScope(key: key, row: row)
    }
}

extension GroupRow {
    /// The word for the state of the scope: "live" or "ended".
    var stateName: String { endVersion > 0 && endVersion >= generation ? "ended" : "live" }
}
