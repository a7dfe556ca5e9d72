internal import LiveActivity

extension Installation {
    /// After a login or a logout: the rows under the recipient that it has left serve for a day what was
    /// accepted before, marked as moved; under the new one they say since when.
    mutating func move(from old: Installation, at time: Int64, now: Int64) {
        guard recipient != old.recipient else { return }
        let present = recipient
        moved.removeAll { $0.recipient == present }
        guard RegistryRows(of: old).hasTokens else { return }
        moved.append(
            Moved(
                recipient: old.recipient, since: old.movedAt, at: time,
                until: now + Retention.movedMilliseconds))
        movedAt = time
    }

    /// The newest word on what a segment may look at.
    var profileHeardAt: ReportTime? {
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
