internal import Identifiers
internal import InstallationRecords
internal import Store

// The lists of users and of installations, by name. A position in such a list has the time 0, and the name as its tie
// breaker.

extension LaneReader {
    /// The byte behind a name with which a range begins after all keys of the name. In these keys a zero byte follows the
    /// name, and no name contains the byte 1.
    private static let behindName: UInt8 = 1

    /// Lists the users that installations or profiles name. An erased user is not listed.
    func listUsers(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let app = InstallationRowMapping.appPrefix(query.app)
        var list = LaneList<QueryResult.UserSummary>()
        // The rows of a user lie one after the other, so a user is complete at the first row of the next one.
        var current: QueryResult.UserSummary?
        var lastFinished: ListPosition?
        func finishCurrent() {
            guard let user = current else { return }
            if let entry = user.entry { list.entries.append(entry) }
            lastFinished = user.position
            current = nil
        }
        let range = range(of: query, keysAfter: app, namesFrom: Recipient.userPrefix)
        try forEachRow(within: range, topic: .installations, table: .index, in: lane) { indexRow in
            guard budget.countRow() else {
                try list.cut(behind: lastFinished)
                // Rows of this user are missing, so the next page has the user.
                current = nil
                return false
            }
            let text = String(decoding: Self.name(in: indexRow.key, after: app), as: UTF8.self)
            if let user = current, user.recipientText != text { finishCurrent() }
            if list.entries.count >= query.limit { return false }
            var user = current ?? QueryResult.UserSummary(recipientText: text)
            // The index leads to the row of an installation, or of the user's profile.
            if let row = try installation(at: indexRow.value, in: lane), row.recipient.text == text {
                user.add(row)
            }
            current = user
            return true
        }
        finishCurrent()
        result.users = list.entries
        result.cuts = list.cuts
    }

    /// Lists the installations of the app, or of one user.
    func listInstallations(_ query: LaneQuery, in lane: OpenLane, into result: inout QueryResult) throws {
        let owner = query.user.map { Recipient.user($0) }
        let prefix =
            owner.map { InstallationRowMapping.recipientPrefix(of: $0, app: query.app) }
            ?? InstallationRowMapping.appPrefix(query.app)
        let table = owner == nil ? RowTable.rows : .index
        var list = LaneList<Installation>()
        var lastRead: ListPosition?
        let range = range(of: query, keysAfter: prefix, namesFrom: Recipient.installationPrefix)
        try forEachRow(within: range, topic: .installations, table: table, in: lane) { row in
            guard budget.countRow() else {
                try list.cut(behind: lastRead)
                return false
            }
            let position = ListPosition(at: 0, tieBreaker: Self.name(in: row.key, after: prefix))
            // A row of the index leads to the row of the installation.
            let rowKey = owner == nil ? row.key : row.value
            if let phone = try installation(at: rowKey, in: lane), owner == nil || phone.recipient == owner {
                list.entries.append(ListEntry(position: position, value: phone))
            }
            lastRead = position
            return list.entries.count < query.limit
        }
        result.listedInstallations = list.entries
        result.cuts = list.cuts
    }

    /// Returns the keys of a list from the query's position on.
    ///
    /// - Parameters:
    ///   - prefix: The part of the keys before the names.
    ///   - namePrefix: The beginning of all names of the list.
    private func range(of query: LaneQuery, keysAfter prefix: [UInt8], namesFrom namePrefix: String)
        -> KeyRange
    {
        let all = KeyRange(prefix: prefix + Array(namePrefix.utf8))
        guard let after = query.after else { return all }
        return KeyRange(from: prefix + after.tieBreaker + [Self.behindName], upTo: all.upper)
    }

    /// Returns the name in a key, which ends at the next zero byte.
    private static func name(in key: [UInt8], after prefix: [UInt8]) -> [UInt8] {
        Array(key.dropFirst(prefix.count).prefix { $0 != 0 })
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
