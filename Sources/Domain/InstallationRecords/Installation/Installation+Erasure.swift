package import Identifiers

extension Installation {
    /// Returns the record after the erasure of these users up to the given times, or nil if nothing changes.
    package func erasing(users: [Recipient: ReportTime]) -> Installation? {
        guard case .installation = subject else { return nil }
        var left = self
        left.formerRecipients.removeAll { moved in
            users[moved.recipient].map { moved.at <= $0.received } ?? false
        }
        if let time = users[recipient], belongedToCurrentUser(at: time), erasedUpTo.map({ $0 < time }) ?? true
        {
            left.erase(upTo: time)
        }
        return left == self ? nil : left
    }

    /// Whether the older facts belong to the present user. If the installation moved to this user after
    /// `time`, the facts before the move describe another user.
    private func belongedToCurrentUser(at time: ReportTime) -> Bool {
        guard let user, user.at > time, let movedAt else { return true }
        return movedAt <= time.received
    }

    /// Erases all facts up to a time and keeps that time, so that late reports cannot restore them. Newer
    /// facts stay, so the erasure may arrive at any time.
    ///
    /// A closed activity keeps its id and its closing times for as long as reports about it can arrive. The
    /// first report of an end counts, and an erasure must not change which report was first.
    package mutating func erase(upTo time: ReportTime) {
        let old = recipient
        func erase<Value: Mergeable>(_ said: inout Timestamped<Value>?) {
            if let at = said?.at, at <= time { said = nil }
        }
        erase(&environment)
        erase(&user)
        erase(&os)
        erase(&appBuild)
        erase(&frequentPushesEnabled)
        erase(&activitiesEnabled)
        erase(&tags)
        erase(&attributes)
        erase(&locale)
        erase(&timeZone)
        erase(&runningActivities)
        startTokens = startTokens.compactMap { $0.keepingReports(after: time) }
        activities = activities.compactMap { $0.keepingReports(after: time) }
        // A refusal before the erasure cannot match a token that was reported after it, even in the same
        // millisecond.
        refusedTokens.removeAll { $0.at < time.event }
        formerRecipients.removeAll { $0.at <= time.received }
        if let movedAt, movedAt <= time.received { self.movedAt = nil }
        taps.removeAll { $0.at <= time.event }
        if let tapsPrunedUpTo, tapsPrunedUpTo <= time.event { self.tapsPrunedUpTo = nil }
        erasedUpTo = time
        let present = recipient
        guard present != old else { return }
        // The login was erased, so the installation returns to its previous recipient. Nothing has moved away
        // from there.
        formerRecipients.removeAll { $0.recipient == present }
        movedAt = nil
    }
}

extension Installation.StartToken {
    fileprivate func keepingReports(after time: ReportTime) -> Installation.StartToken? {
        var left = self
        if let at = token?.at, at <= time { left.token = nil }
        if let at = unregisteredAt, at <= time { left.unregisteredAt = nil }
        return left.token == nil && left.unregisteredAt == nil ? nil : left
    }
}

extension Installation.Activity {
    fileprivate func keepingReports(after time: ReportTime) -> Installation.Activity? {
        var left = self
        func erase<Value: Mergeable>(_ said: inout Timestamped<Value>?) {
            if let at = said?.at, at <= time { said = nil }
        }
        erase(&left.type)
        erase(&left.group)
        erase(&left.channel)
        erase(&left.state)
        if let at = token?.at, at <= time { left.token = nil }
        if let at = lastSeenAt, at <= time { left.lastSeenAt = nil }
        let isBare =
            left.type == nil && left.group == nil && left.channel == nil && left.state == nil
            && left.token == nil && left.lastSeenAt == nil
        return isBare && closing == nil ? nil : left
    }
}
