internal import LiveActivity

extension Installation {
    /// After a login or a logout: the rows under the recipient that it has left serve for a day what was
    /// accepted before, marked as moved; under the new one they say since when.
    mutating func move(from old: Installation, _ before: RegistryRows, at time: Int64, now: Int64) {
        guard recipient != old.recipient else { return }
        let present = recipient
        moved.removeAll { $0.recipient == present }
        guard before.hasTokens else { return }
        moved.append(
            Moved(recipient: old.recipient, at: time, until: now + Retention.movedMilliseconds))
        movedAt = time
    }

    /// The newest word on what a segment may look at.
    var profileHeardAt: ReportTime? {
        let times = (tags?.at, attributes?.at, locale?.at, timeZone?.at)
        var newest = times.0
        for time in [times.1, times.2, times.3] {
            if let time, newest.map({ $0 < time }) ?? true { newest = time }
        }
        return newest
    }
}
