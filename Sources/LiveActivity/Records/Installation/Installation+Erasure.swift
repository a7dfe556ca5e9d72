extension Installation {
    /// What is left of an installation when its users were erased up to these times; nil where it stays as it is.
    package func erased(of users: [Recipient: ReportTime]) -> Installation? {
        guard case .installation = subject else { return nil }
        var left = self
        left.moved.removeAll { moved in users[moved.recipient].map { moved.at <= $0.received } ?? false }
        if let time = users[recipient], wasItsRecipients(at: time), erasedAt.map({ $0 < time }) ?? true {
            left.erase(upTo: time)
        }
        return left == self ? nil : left
    }

    /// One that came from somebody else since then has words that were never about its present user.
    private func wasItsRecipients(at time: ReportTime) -> Bool {
        guard let user, user.at > time, let movedAt else { return true }
        return movedAt <= time.received
    }

    /// Forgets what was said up to a time, and remembers that time, so that none of it can come back late.
    /// What was said since stays, so it does not matter when this is heard.
    ///
    /// Of an activity that is over the bare id stays with that fact, for as long as a word on it could
    /// come: of an end the first word counts, and which one was the first must not change.
    package mutating func erase(upTo time: ReportTime) {
        let old = recipient
        func erase<Value: Sayable>(_ said: inout Said<Value>?) {
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
        erase(&running)
        starts = starts.compactMap { $0.since(time) }
        activities = activities.compactMap { $0.since(time) }
        // Older refusals mean no token that was reported since, not even in the same millisecond.
        refused.removeAll { $0.at < time.event }
        moved.removeAll { $0.at <= time.received }
        if let movedAt, movedAt <= time.received { self.movedAt = nil }
        taps.removeAll { $0.at <= time.event }
        if let tappedAt, tappedAt <= time.event { self.tappedAt = nil }
        erasedAt = time
        let present = recipient
        guard present != old else { return }
        // Who logged in is forgotten, and it is back where it was before: nothing has moved away from there.
        moved.removeAll { $0.recipient == present }
        movedAt = nil
    }
}

extension Installation.Start {
    fileprivate func since(_ time: ReportTime) -> Installation.Start? {
        var left = self
        if let at = token?.at, at <= time { left.token = nil }
        if let at = unregisteredAt, at <= time { left.unregisteredAt = nil }
        return left.token == nil && left.unregisteredAt == nil ? nil : left
    }
}

extension Installation.Activity {
    fileprivate func since(_ time: ReportTime) -> Installation.Activity? {
        var left = self
        func erase<Value: Sayable>(_ said: inout Said<Value>?) {
            if let at = said?.at, at <= time { said = nil }
        }
        erase(&left.type)
        erase(&left.group)
        erase(&left.channel)
        erase(&left.state)
        if let at = token?.at, at <= time { left.token = nil }
        if let at = heardAt, at <= time { left.heardAt = nil }
        let isBare =
            left.type == nil && left.group == nil && left.channel == nil && left.state == nil
            && left.token == nil && left.heardAt == nil
        return isBare && closing == nil ? nil : left
    }
}
