internal import Identifiers
internal import InstallationRecords

extension Installation {
    /// Records the move to another recipient, after a login or a logout.
    ///
    /// For a day the rows under the former recipient stay, marked as moved. They serve sends that were accepted before
    /// the move. The rows under the new recipient have the time of the move.
    ///
    /// - Parameters:
    ///   - time: the time of the report, in milliseconds since 1970 by the server's clock.
    ///   - now: the time of the decision, in milliseconds since 1970.
    mutating func move(from old: Installation, at time: Int64, now: Int64) {
        guard recipient != old.recipient else { return }
        let newRecipient = recipient
        formerRecipients.removeAll { $0.recipient == newRecipient }
        // An installation without tokens has no rows that have to stay, so it does not count as moved.
        guard RegistryRows(of: old).hasTokens else { return }
        formerRecipients.append(
            FormerRecipient(
                recipient: old.recipient, joinedAt: old.movedAt, at: time,
                rowsKeptUntil: now + Retention.movedRowsMilliseconds))
        movedAt = time
    }
}
