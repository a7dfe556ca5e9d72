internal import LiveActivity

extension Installation {
    /// Drops entries that expired and entries beyond a limit.
    ///
    /// The record of an activity outlives its token by the longest delay of a report. Until then the record
    /// rejects older reports, and late reports still count.
    ///
    /// - Returns: Whether an entry was dropped.
    @discardableResult
    mutating func forget(at now: Int64, _ app: App) -> Bool {
        let hasForgotten = forgetTokens(at: now, app)
        guard hasForgettable(at: now, app) else { return hasForgotten }
        let before = entryCount
        forgetEntries(at: now, app)
        return hasForgotten || entryCount < before
    }

    private var entryCount: Int {
        starts.count + activities.count + refused.count + moved.count
            + taps.count + (erasedAt == nil ? 0 : 1)
    }

    /// Usually nothing can be dropped. This check avoids a mutation, because a mutation copies the arrays.
    private func hasForgettable(at now: Int64, _ app: App) -> Bool {
        let (activities, starts, refused, moved, taps) = (activities, starts, refused, moved, taps)
        for index in activities.indices
        where activities[index].keptUntil(app) <= now { return true }
        for index in starts.indices
        where starts[index].lastWordAt + Retention.reportMilliseconds <= now { return true }
        if let erasedAt, Retention.erasure(at: erasedAt) <= now { return true }
        return activities.count > Self.activitiesMax || starts.count > Self.startsMax
            || hasTooManyTypes(app)
            || refused.count > Self.refusedMax || moved.count > Self.movedMax
            || taps.count > Self.tapsMax || taps.contains { $0.keptUntil <= now }
            || moved.contains { $0.until <= now }
            || refused.contains { $0.at + Retention.reportMilliseconds <= now }
    }

    private mutating func forgetEntries(at now: Int64, _ app: App) {
        let known = self
        moved.removeAll { $0.until <= now }
        activities.removeAll { $0.keptUntil(app) <= now }
        starts.removeAll { start in
            guard start.lastWordAt + Retention.reportMilliseconds <= now else { return false }
            return start.isOf(known.environment?.value) && !known.isUsable(start) && !start.isUnwanted
        }
        refused.removeAll { $0.at + Retention.reportMilliseconds <= now }
        taps.removeAll { $0.keptUntil <= now }
        if let time = erasedAt, Retention.erasure(at: time) <= now { erasedAt = nil }
        while hasTooManyTypes(app) {
            starts.removeLeast { start in
                Self.isUndeclared(start, app) ? (start.lastWordAt, start.type ?? "") : (.max, "")
            }
        }
        while activities.count > Self.activitiesMax {
            activities.removeLeast { ($0.lastWordAt, $0.id) }
        }
        while starts.count > Self.startsMax {
            starts.removeLeast { ($0.lastWordAt, $0.type ?? "") }
        }
        while refused.count > Self.refusedMax { refused.removeLeast { ($0.at, $0.hash) } }
        while taps.count > Self.tapsMax {
            let oldest = taps.removeLeast { ($0.at, $0.id ?? "") }
            tappedAt = max(tappedAt ?? .min, oldest.at)
        }
        if moved.count > Self.movedMax { moved.removeFirst(moved.count - Self.movedMax) }
    }

    private func hasTooManyTypes(_ app: App) -> Bool {
        starts.count > Self.undeclaredTypesMax
            && starts.count { Self.isUndeclared($0, app) } > Self.undeclaredTypesMax
    }

    private static func isUndeclared(_ start: Start, _ app: App) -> Bool {
        guard let type = start.type else { return false }
        return !app.types.contains { $0.name.isExactly(type) }
    }

    private mutating func forgetTokens(at now: Int64, _ app: App) -> Bool {
        var hasForgotten = setLives(app)
        for index in starts.indices where isWorthless(starts[index]) {
            starts[index].token?.sealed = nil
            hasForgotten = true
        }
        for index in activities.indices {
            let fate = fate(of: activities[index], at: now)
            if fate.isWorthless { activities[index].token?.sealed = nil }
            if let isExpired = fate.isExpired { activities[index].isExpired = isExpired }
            if fate.isWorthless || fate.isExpired != nil { hasForgotten = true }
        }
        return hasForgotten
    }

    /// Updates the token lifetimes: the app's setting or the type of an activity may have changed.
    private mutating func setLives(_ app: App) -> Bool {
        var hasChanged = false
        for index in activities.indices {
            let life = app.updateTokenMilliseconds(activities[index].type?.value)
            guard activities[index].tokenMilliseconds != life else { continue }
            activities[index].tokenMilliseconds = life
            hasChanged = true
        }
        return hasChanged
    }

    private func isWorthless(_ start: Start) -> Bool {
        guard let token = start.token, token.sealed != nil else { return false }
        return isRefused(token)
    }

    /// Returns whether the token is useless, and the new `isExpired` if it differs from the stored one.
    private func fate(
        of activity: Activity, at now: Int64
    ) -> (isWorthless: Bool, isExpired: Bool?) {
        guard let token = activity.token else { return (false, nil) }
        let isClosed = activity.closing != nil
        let isWorthless = token.sealed != nil && (isClosed || isRefused(token))
        let isExpired = expiresAt(activity) <= now
        return (isWorthless, isExpired == activity.isExpired ? nil : isExpired)
    }

    /// Whether an activity is marked as expired before its token expires.
    func hasExpiredTooSoon(at now: Int64, _ app: App) -> Bool {
        activities.contains { activity in
            guard activity.isExpired, activity.token?.sealed != nil else { return false }
            return expiresAt(activity) > now
        }
    }

    /// Whether the installation holds nothing that justifies its record.
    func isForgotten(at now: Int64, withoutTokens milliseconds: Int64) -> Bool {
        if environment == nil, self == Installation(app: app, subject: subject) { return true }
        guard let end = tokenlessUntil(milliseconds) else { return false }
        return end <= now && erasedAt == nil && activities.isEmpty && moved.isEmpty
    }

    /// Returns the time at which an installation without start tokens is forgotten. Returns nil if it has
    /// one.
    private func tokenlessUntil(_ milliseconds: Int64) -> Int64? {
        guard case .installation = subject else { return nil }
        for start in starts where start.token?.sealed != nil && !start.isUnwanted {
            return nil
        }
        // Every report of a phone carries its environment.
        return (environment?.at.received ?? refused.map(\.at).max() ?? 0) + milliseconds
    }

    /// Returns the next time at which `forget` or `isForgotten` has an effect, or nil for never.
    func forgetsAt(_ app: App, withoutTokens milliseconds: Int64) -> Int64? {
        var next = tokenlessUntil(milliseconds) ?? .max
        if let erasedAt { next = min(next, Retention.erasure(at: erasedAt)) }
        for moved in moved { next = min(next, moved.until) }
        for activity in activities {
            let isHeld = activity.token?.sealed != nil && !activity.isExpired
            let life = app.updateTokenMilliseconds(activity.type?.value)
            if activity.tokenMilliseconds != life { return 0 }
            next = min(next, isHeld ? expiresAt(activity) : activity.keptUntil(app))
        }
        return next == .max ? nil : next
    }
}

extension Installation.Activity {
    fileprivate func keptUntil(_ app: App) -> Int64 {
        let life = app.updateTokenMilliseconds(type?.value)
        return lastWordAt + Retention.activity(tokenMilliseconds: life)
    }
}

extension Installation.Tap {
    /// After this time no report of the tap can arrive.
    fileprivate var keptUntil: Int64 {
        at + Retention.reportMilliseconds + ReportTime.delayMillisecondsMax
    }
}

extension Installation.Start {
    var lastWordAt: Int64 { max(token?.at.received ?? 0, unregisteredAt?.received ?? 0) }

    /// Whether the token belongs to `environment`. A token of another environment stays until its app
    /// returns.
    fileprivate func isOf(_ environment: Environment?) -> Bool {
        token == nil || token?.environment == environment
    }
}

extension Array {
    /// Removes the element with the smallest time. Ties are broken by name, so that the order of arrival does
    /// not matter.
    @discardableResult
    fileprivate mutating func removeLeast(_ measure: (Element) -> (time: Int64, name: String)) -> Element {
        guard let least = indices.min(by: { measure(self[$0]) < measure(self[$1]) }) else {
            preconditionFailure("there are more than a limit allows")
        }
        return remove(at: least)
    }
}
