internal import JSON
internal import Kafka
internal import LiveActivity
internal import Store

/// The rows of `installations`: each installation without its tokens, the index by recipient, the number of
/// running activities by group, and the erased users.
enum InstallationForm: RowForm {
    static let schema = 1
    /// The placeholder for a token that exists.
    static let redacted = "-"
    /// The prefix in the key of an erased user, in the place of a recipient.
    private static let erasure = "e:"

    static func enter(
        _ record: borrowing Kafka.Record, with reader: JSONReader, into rows: PendingRows
    ) throws(StoreError) -> String {
        guard let key = [UInt8](copying: record.key), let parts = RecordKey.split(key), parts.count == 2
        else {
            return "unreadable"
        }
        let (app, subject) = (parts[0], parts[1])
        let own = RowKey.of(app, subject)
        if subject.hasPrefix(erasure) {
            // The topic deletes the erasure within days. Here it must last as long as events from before it.
            guard let value = [UInt8](copying: record.value) else { return "entered" }
            guard let row = Installation.read(value, with: reader), let erased = row.erasedAt else {
                return "unreadable"
            }
            rows.put(own, value, at: erased.received, in: .rows)
            return "entered"
        }
        let old = try rows.value(own, in: .rows).flatMap { Installation.read($0, with: reader) }
        var new: Installation?
        if let value = [UInt8](copying: record.value) {
            guard let read = Installation.read(value, with: reader) else { return "unreadable" }
            new = read.withoutTokens
        }
        if let new {
            rows.put(own, new.encoded(), at: .max, in: .rows)
        } else {
            rows.remove(own, in: .rows)
        }
        if old?.recipient != new?.recipient {
            if let old { rows.remove(place(old, subject), in: .index) }
            if let new { rows.put(place(new, subject), own, at: .max, in: .index) }
        }
        try recount(app, from: old, to: new, in: rows)
        return "entered"
    }

    /// Returns the key prefix of one recipient's installations.
    static func byRecipient(_ recipient: Recipient, app: String) -> [UInt8] { RowKey.of(app, recipient.text) }

    static func row(_ subject: Recipient, app: String) -> [UInt8] { RowKey.of(app, subject.text) }

    static func erasureRow(ofUser user: String, app: String) -> [UInt8] { RowKey.of(app, erasure + user) }

    static func running(_ group: String, app: String) -> [UInt8] { RowKey.of(app, group) }

    private static func place(_ installation: Installation, _ subject: String) -> [UInt8] {
        byRecipient(installation.recipient, app: installation.app) + Array(subject.utf8)
    }

    private static func recount(
        _ app: String, from old: Installation?, to new: Installation?, in rows: PendingRows
    ) throws(StoreError) {
        var change: [String: Int] = [:]
        for group in old?.runningGroups ?? [] { change[group, default: 0] -= 1 }
        for group in new?.runningGroups ?? [] { change[group, default: 0] += 1 }
        for (group, by) in change { try rows.count(running(group, app: app), by: by) }
    }
}

extension Installation {
    /// The installation without its tokens. Placeholders, hashes and times remain.
    var withoutTokens: Installation {
        func without(_ token: Installation.Token?) -> Installation.Token? {
            guard var token, token.sealed != nil else { return token }
            token.sealed = InstallationForm.redacted
            return token
        }
        var copy = self
        for index in starts.indices { copy.starts[index].token = without(starts[index].token) }
        for index in activities.indices {
            copy.activities[index].token = without(activities[index].token)
        }
        return copy
    }

    /// The groups of the running activities, one element for each activity.
    var runningGroups: [String] {
        activities.compactMap { isRunning($0) ? $0.group?.value : nil }
    }

    func isRunning(_ activity: Activity) -> Bool { overBy(activity) == nil && !activity.isExpired }
}
