internal import LiveActivity
internal import Store

extension LaneReader {
    /// The limit of one send's records: one or two verdicts, and one record for each lane.
    private static let recordsMax = 20_000

    func findSend(_ send: String, of app: String, in lane: OpenLane, _ found: inout Findings) throws {
        let stored = StoredReceipts(environment: lane.receipts, reader: reader)
        for (environment, tally) in try stored.report(of: send, app: app).environments {
            found.tallies.append(Findings.Tally(send: send, environment: environment, tally: tally))
        }
        let range = KeyRange(prefix: ProgressForm.prefix(app: app, send: send))
        for (_, value) in try rows(within: range, .progress, .rows, in: lane, max: Self.recordsMax) {
            if let progress = Progress.read(value, with: reader) { found.progress.append(progress) }
        }
    }

    func listSends(_ question: Question, in lane: OpenLane, _ found: inout Findings) throws {
        let prefix =
            question.group.map { ProgressForm.byGroup(app: question.app, $0) }
            ?? ProgressForm.byTime(app: question.app)
        try list(for: question, .progress, .index, prefix: prefix, in: lane) { place, value in
            Listed(place: place, value: String(decoding: value, as: UTF8.self))
        } into: {
            found.sends.append($0)
        }
    }

    func listGroups(_ question: Question, in lane: OpenLane, _ found: inout Findings) throws {
        try list(
            for: question, .groups, .index, prefix: GroupForm.byTime(app: question.app), in: lane
        ) { place, key in
            guard let key = unsafe key.withUnsafeBytes({ unsafe GroupKey(bytes: $0) }) else { return nil }
            // If the whole group is also known, the list contains only the whole group.
            if key.recipient != nil, try scope(key.whole, in: lane) != nil { return nil }
            guard let scope = try scope(key, in: lane), question.code.map({ $0 == scope.row.life }) ?? true
            else { return nil }
            return Listed(place: place, value: scope)
        } into: {
            found.scopes.append($0)
        }
    }

    func findGroups(_ question: Question, in lane: OpenLane, _ found: inout Findings) throws {
        for name in question.names {
            let whole = GroupKey(app: question.app, group: name)
            for key in [whole] + (question.user.map { [whole.of(.user($0))] } ?? []) {
                guard let scope = try scope(key, in: lane) else { continue }
                found.scopes.append(Listed(place: ListPlace(at: scope.row.lastAt, rest: []), value: scope))
            }
        }
    }

    private func scope(_ key: GroupKey, in lane: OpenLane) throws -> Findings.Scope? {
        try value(of: GroupForm.row(key), .groups, .rows, in: lane).flatMap { value in
            GroupRow.read(value, with: reader).map { Findings.Scope(key: key, row: $0) }
        }
    }
}

extension GroupRow {
    /// The word for the state of the scope: "live" or "ended".
    var life: String { endedAt > 0 && endedAt >= generation ? "ended" : "live" }
}
