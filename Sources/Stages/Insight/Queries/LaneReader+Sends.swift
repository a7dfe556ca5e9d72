internal import Identifiers
internal import RecordFormat
internal import Sends
internal import Store

extension LaneReader {
    /// The limit of one send's records: one or two verdicts, and one record for each lane.
    private static let recordsMax = 20_000

    func findSend(_ send: String, of app: String, in lane: OpenLane, into found: inout QueryResult) throws {
        let stored = StoredReceipts(environment: lane.receipts, reader: reader)
        for (environment, tally) in try stored.report(of: send, app: app).environments {
            found.tallies.append(
                QueryResult.EnvironmentTally(send: send, environment: environment, tally: tally))
        }
        let range = KeyRange(prefix: ProgressRowMapping.recordsPrefix(app: app, send: send))
        for (_, value) in try rows(
            within: range, topic: .progress, table: .rows, in: lane, max: Self.recordsMax)
        {
            if let progress = ProgressRecord.decodeIfValid(value, with: reader) {
                found.progress.append(progress)
            }
        }
    }

    func listSends(_ question: LaneQuery, in lane: OpenLane, into found: inout QueryResult) throws {
        let prefix =
            question.group.map { ProgressRowMapping.groupPrefix(app: question.app, group: $0) }
            ?? ProgressRowMapping.timePrefix(app: question.app)
        try list(for: question, topic: .progress, table: .index, prefix: prefix, in: lane) { place, value in
            ListEntry(position: place, value: String(decoding: value, as: UTF8.self))
        } into: {
            found.sends.append($0)
        }
    }

    func listGroups(_ question: LaneQuery, in lane: OpenLane, into found: inout QueryResult) throws {
        try list(
            for: question, topic: .groups, table: .index,
            prefix: GroupRowMapping.timePrefix(app: question.app), in: lane
        ) { place, key in
            guard let key = unsafe key.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }) else { return nil }
            // If the whole group is also known, the list contains only the whole group.
            if key.recipient != nil, try scope(of: key.wholeGroup, in: lane) != nil { return nil }
            guard let scope = try scope(of: key, in: lane),
                question.code.map({ $0 == scope.row.stateName }) ?? true
            else { return nil }
            return ListEntry(position: place, value: scope)
        } into: {
            found.scopes.append($0)
        }
    }

    func findGroups(_ question: LaneQuery, in lane: OpenLane, into found: inout QueryResult) throws {
        for name in question.names {
            let whole = ScopeKey(app: question.app, group: name)
            for key in [whole] + (question.user.map { [whole.narrowed(to: .user($0))] } ?? []) {
                guard let scope = try scope(of: key, in: lane) else { continue }
                found.scopes.append(
                    ListEntry(position: ListPosition(at: scope.row.lastSendAt, rest: []), value: scope))
            }
        }
    }

    private func scope(of key: ScopeKey, in lane: OpenLane) throws -> QueryResult.GroupScope? {
        try value(of: GroupRowMapping.rowKey(of: key), topic: .groups, table: .rows, in: lane).flatMap {
            value in
            GroupRow.decodeIfValid(value, with: reader).map { QueryResult.GroupScope(key: key, row: $0) }
        }
    }
}

extension GroupRow {
    /// The word for the state of the scope: "live" or "ended".
    var stateName: String { endVersion > 0 && endVersion >= generation ? "ended" : "live" }
}
