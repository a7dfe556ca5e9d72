internal import Identifiers
internal import InstallationRecords
internal import Store

// The lists of users and of installations, by name. A position in such a list has the time 0, and the name as its tie
// breaker.

extension LaneReader {
    /// A byte behind every key that begins with a name and a zero byte. No name contains it.
    private static let behindName: UInt8 = 1

    /// Lists the users that installations or profiles name. An erased user is not listed.
    func listUsers(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let app = InstallationRowMapping.appPrefix(query.app)
        let users = app + Array(Recipient.userPrefix.utf8)
        var range = KeyRange(prefix: users)
        if let after = query.after {
            range = KeyRange(from: app + after.tieBreaker + [Self.behindName], upTo: range.upper)
        }
        var current: QueryResult.UserSummary?
        var lastFinished: ListPosition?
        let isCut = try forEachRow(in: &range, table: .index, of: lane) { key, rowKey in
            let text = String(decoding: key.dropFirst(app.count).prefix { $0 != 0 }, as: UTF8.self)
            if let finished = current, finished.recipientText != text {
                if let entry = finished.entry { result.users.append(entry) }
                (lastFinished, current) = (finished.position, nil)
            }
            if result.users.count >= query.limit { return false }
            var summary = current ?? QueryResult.UserSummary(recipientText: text)
            if let row = try installation(at: rowKey, in: lane), row.recipient.text == text {
                summary.add(row)
            }
            current = summary
            return true
        }
        if isCut {
            // Without any progress the next page would end here again.
            guard let lastFinished else { throw QueryLimit.time }
            result.cuts = [lastFinished]
        } else if let entry = current?.entry, result.users.count < query.limit {
            result.users.append(entry)
        }
    }

    /// Lists the installations of the app, or of one user.
    func listInstallations(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let owner = query.user.map { Recipient.user($0) }
        let prefix =
            owner.map { InstallationRowMapping.recipientPrefix(of: $0, app: query.app) }
            ?? InstallationRowMapping.appPrefix(query.app)
        var range = KeyRange(prefix: prefix + Array(Recipient.installationPrefix.utf8))
        if let after = query.after {
            range = KeyRange(from: prefix + after.tieBreaker + [Self.behindName], upTo: range.upper)
        }
        var lastRead: ListPosition?
        let isCut = try forEachRow(in: &range, table: owner == nil ? .rows : .index, of: lane) { key, value in
            if result.listedInstallations.count >= query.limit { return false }
            let position = ListPosition(at: 0, tieBreaker: key.dropFirst(prefix.count).prefix { $0 != 0 })
            // A row of the index leads to the row of the installation.
            let rowKey = owner == nil ? key : value
            if let row = try installation(at: rowKey, in: lane), owner == nil || row.recipient == owner {
                result.listedInstallations.append(ListEntry(position: position, value: row))
            }
            lastRead = position
            return true
        }
        if isCut {
            guard let lastRead else { throw QueryLimit.time }
            result.cuts = [lastRead]
        }
    }

    /// Passes on the rows of a range in order, until `take` returns false.
    ///
    /// - Returns: Whether the budget ended the list early.
    private func forEachRow(
        in range: inout KeyRange, table: RowTable, of lane: OpenLane,
        take: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
    ) throws -> Bool {
        while true {
            let page = try rows(
                within: range, topic: .installations, table: table, in: lane, max: Self.pageRowsMax)
            for (key, value) in page {
                guard budget.countRow() else { return true }
                guard try take(key, value) else { return false }
                range.advance(past: key.span)
            }
            if page.count < Self.pageRowsMax { return false }
        }
    }
}

extension QueryResult.UserSummary {
    /// - Parameter text: The text of the user as a recipient.
    fileprivate init(recipientText text: String) {
        self.init(user: String(text.dropFirst(Recipient.userPrefix.count)))
    }

    fileprivate var recipientText: String { Recipient.user(user).text }

    fileprivate var position: ListPosition { ListPosition(at: 0, tieBreaker: Array(recipientText.utf8)) }

    /// Nil for a user without any data left.
    fileprivate var entry: ListEntry<Self>? {
        installations > 0 || hasProfile ? ListEntry(position: position, value: self) : nil
    }

    /// Counts a row of the user: an installation, or the profile from a backend.
    fileprivate mutating func add(_ row: Installation) {
        if case .user = row.subject {
            // The record of an erased user contains neither tags nor attributes.
            hasProfile = hasProfile || row.tags != nil || row.attributes != nil
            return
        }
        installations += 1
        lastReportAt = [lastReportAt, row.lastReportAt].compactMap(\.self).max()
    }
}
