package import Identifiers

extension Installation {
    /// Returns the record without the facts about these users up to their times, or nil if nothing changes.
    ///
    /// - Parameter users: the users to erase, with the times of the requests.
    package func erasing(users: [Recipient: ReportTime]) -> Installation? {
        guard case .installation = subject else { return nil }
        var remaining = self
        remaining.formerRecipients.removeAll { former in
            users[former.recipient].map { former.at <= $0.received } ?? false
        }
        if let time = users[recipient], belongedToCurrentUser(at: time), !isErased(upTo: time) {
            remaining.erase(upTo: time)
        }
        return remaining == self ? nil : remaining
    }

    private func isErased(upTo time: ReportTime) -> Bool { erasedUpTo.map { $0 >= time } ?? false }

    /// Whether the facts up to `time` belong to the current user. If the installation moved to this user after
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
        let recipientBefore = recipient
        environment.erase(upTo: time)
        user.erase(upTo: time)
        os.erase(upTo: time)
        appBuild.erase(upTo: time)
        frequentPushesEnabled.erase(upTo: time)
        activitiesEnabled.erase(upTo: time)
        tags.erase(upTo: time)
        attributes.erase(upTo: time)
        locale.erase(upTo: time)
        timeZone.erase(upTo: time)
        runningActivities.erase(upTo: time)
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
        let recipientAfter = recipient
        guard recipientAfter != recipientBefore else { return }
        // The login was erased, so the installation returns to its previous recipient. Nothing has moved away
        // from there.
        formerRecipients.removeAll { $0.recipient == recipientAfter }
        movedAt = nil
    }
}

extension Installation.StartToken {
    /// Returns the start token without the facts up to `time`, or nil if nothing remains.
    fileprivate func keepingReports(after time: ReportTime) -> Installation.StartToken? {
        var remaining = self
        if let at = token?.at, at <= time { remaining.token = nil }
        if let at = unregisteredAt, at <= time { remaining.unregisteredAt = nil }
        return remaining.token == nil && remaining.unregisteredAt == nil ? nil : remaining
    }
}

extension Installation.Activity {
    /// Returns the activity without the facts up to `time`, or nil if nothing remains. A closed activity
    /// always remains.
    fileprivate func keepingReports(after time: ReportTime) -> Installation.Activity? {
        var remaining = self
        remaining.type.erase(upTo: time)
        remaining.group.erase(upTo: time)
        remaining.channel.erase(upTo: time)
        remaining.state.erase(upTo: time)
        if let at = token?.at, at <= time { remaining.token = nil }
        if let at = lastSeenAt, at <= time { remaining.lastSeenAt = nil }
        return remaining.hasOnlyID && closing == nil ? nil : remaining
    }

    /// Whether no fact is left, apart from the closing times.
    private var hasOnlyID: Bool {
        type == nil && group == nil && channel == nil && state == nil && token == nil && lastSeenAt == nil
    }
}

extension Optional {
    fileprivate mutating func erase<Value: Mergeable>(upTo time: ReportTime)
    where Wrapped == Timestamped<Value> {
        if let at = self?.at, at <= time { self = nil }
    }
}
