internal import Identifiers
internal import InstallationRecords

extension Installation {
    /// Records the move after a login or a logout. For a day the rows under the old recipient serve sends
    /// that were accepted before the move. They are marked as moved. The rows under the new recipient carry
    /// the time of the move.
    mutating func move(from old: Installation, at time: Int64, now: Int64) {
        guard recipient != old.recipient else { return }
        let present = recipient
        formerRecipients.removeAll { $0.recipient == present }
        guard RegistryRows(of: old).hasTokens else { return }
        formerRecipients.append(
            FormerRecipient(
                recipient: old.recipient, joinedAt: old.movedAt, at: time,
                rowsKeptUntil: now + Retention.movedRowsMilliseconds))
        movedAt = time
    }

    /// The time of the newest report about a value that a segment can test.
    var profileReportedAt: ReportTime? {
        var newest = tags?.at
        func consider(_ time: ReportTime?) {
            if let time, newest.map({ $0 < time }) ?? true { newest = time }
        }
        consider(attributes?.at)
        consider(locale?.at)
        consider(timeZone?.at)
        return newest
    }
}
