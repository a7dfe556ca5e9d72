internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Store

/// The rows of `installations`: each installation without its tokens, the index by recipient, the number of
/// running activities by group, and the erased users.
enum InstallationRowMapping: RowMapping {
    static let schema = 1
    /// The placeholder for a token that exists.
    static let redactedToken = "-"
    /// The prefix in the key of an erased user, in the place of a recipient.
    private static let erasurePrefix = "e:"
    /// The prefix in the key of the owner of a token.
    private static let tokenOwnerPrefix = "t:"

    static func apply(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> RecordOutcome {
        guard let key = [UInt8](copying: record.key), let parts = RecordKey.split(key), parts.count == 2
        else {
            return .unreadable
        }
        let (app, subject) = (parts[0], parts[1])
        // The row names the owner of a token. No answer is about it.
        if subject.hasPrefix(tokenOwnerPrefix) { return .ignored }
        let rowKey = RowKey.joining(app, subject)
        if subject.hasPrefix(erasurePrefix) {
            return applyErasure([UInt8](copying: record.value), rowKey: rowKey, with: reader, into: rows)
        }
        let old = try rows.value(of: rowKey, in: .rows).flatMap {
            Installation.decodeIfValid($0, with: reader)
        }
        var new: Installation?
        if let value = [UInt8](copying: record.value) {
            guard let stored = Installation.decodeIfValid(value, with: reader) else { return .unreadable }
            new = stored.withoutTokens
        }
        if let new {
            rows.put(key: rowKey, value: new.encoded(), at: .max, in: .rows)
        } else {
            rows.remove(rowKey, in: .rows)
        }
        if old?.recipient != new?.recipient {
            if let old { rows.remove(indexKey(of: old, subject: subject), in: .index) }
            if let new {
                rows.put(key: indexKey(of: new, subject: subject), value: rowKey, at: .max, in: .index)
            }
        }
        try updateRunningCounts(app: app, from: old, to: new, in: rows)
        return .entered
    }

    /// Applies the record of an erased user. The topic deletes it within days, but the row must last as long as events
    /// from before the erasure. So a tombstone changes nothing.
    private static func applyErasure(
        _ value: [UInt8]?, rowKey: [UInt8], with reader: JSONReader, into rows: PendingRows
    ) -> RecordOutcome {
        guard let value else { return .entered }
        guard let row = Installation.decodeIfValid(value, with: reader), let erased = row.erasedUpTo else {
            return .unreadable
        }
        rows.put(key: rowKey, value: value, at: erased.received, in: .rows)
        return .entered
    }

    /// Returns the key prefix of an app's rows.
    static func appPrefix(_ app: String) -> [UInt8] { RowKey.joining(app) }

    /// Returns the key prefix of one recipient's installations.
    static func recipientPrefix(of recipient: Recipient, app: String) -> [UInt8] {
        RowKey.joining(app, recipient.text)
    }

    static func rowKey(of subject: Recipient, app: String) -> [UInt8] { RowKey.joining(app, subject.text) }

    static func erasureKey(ofUser user: String, app: String) -> [UInt8] {
        RowKey.joining(app, erasurePrefix + user)
    }

    static func runningCountKey(of group: String, app: String) -> [UInt8] { RowKey.joining(app, group) }

    private static func indexKey(of installation: Installation, subject: String) -> [UInt8] {
        recipientPrefix(of: installation.recipient, app: installation.app) + Array(subject.utf8)
    }

    private static func updateRunningCounts(
        app: String, from old: Installation?, to new: Installation?, in rows: PendingRows
    ) throws(StoreError) {
        var changes: [String: Int] = [:]
        for group in old?.runningGroups ?? [] { changes[group, default: 0] -= 1 }
        for group in new?.runningGroups ?? [] { changes[group, default: 0] += 1 }
        for (group, difference) in changes {
            try rows.changeCount(of: runningCountKey(of: group, app: app), by: difference)
        }
    }
}

extension Installation {
    /// The installation without its tokens. Placeholders, hashes and times remain.
    var withoutTokens: Installation {
        func redacting(_ token: Installation.Token?) -> Installation.Token? {
            guard var token, token.sealed != nil else { return token }
            token.sealed = InstallationRowMapping.redactedToken
            return token
        }
        var copy = self
        for index in startTokens.indices {
            copy.startTokens[index].token = redacting(startTokens[index].token)
        }
        for index in activities.indices {
            copy.activities[index].token = redacting(activities[index].token)
        }
        return copy
    }

    /// The groups of the running activities, one element for each activity.
    var runningGroups: [String] {
        activities.compactMap { isRunning($0) ? $0.group?.value : nil }
    }

    func isRunning(_ activity: Activity) -> Bool { endCause(of: activity) == nil && !activity.isExpired }
}
