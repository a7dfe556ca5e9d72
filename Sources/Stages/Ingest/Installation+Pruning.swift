internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords

extension Installation {
    /// Drops entries that expired and entries beyond a limit.
    ///
    /// The record of an activity outlives its token by the longest delay of a report. Until then the record
    /// rejects older reports, and late reports still count.
    ///
    /// - Returns: Whether an entry was dropped.
    @discardableResult
    mutating func prune(at now: Int64, for app: App) -> Bool {
        let hasPruned = pruneTokens(at: now, for: app)
        guard needsPruning(at: now, for: app) else { return hasPruned }
        let before = entryCount
        pruneEntries(at: now, for: app)
        return hasPruned || entryCount < before
    }

    private var entryCount: Int {
        startTokens.count + activities.count + refusedTokens.count + formerRecipients.count
            + taps.count + (erasedUpTo == nil ? 0 : 1)
    }

    /// Usually nothing can be dropped. This check avoids a mutation, because a mutation copies the arrays.
    private func needsPruning(at now: Int64, for app: App) -> Bool {
        let (activities, starts, refused, moved, taps) = (
            activities, startTokens, refusedTokens, formerRecipients, taps
        )
        for index in activities.indices
        where activities[index].keptUntil(for: app) <= now { return true }
        for index in starts.indices
        where starts[index].lastReportAt + Retention.reportMilliseconds <= now { return true }
        if let erasedUpTo, Retention.erasureEnd(from: erasedUpTo) <= now { return true }
        return activities.count > Self.activitiesMax || starts.count > Self.startTokensMax
            || hasTooManyTypes(for: app)
            || refused.count > Self.refusedTokensMax || moved.count > Self.formerRecipientsMax
            || taps.count > Self.tapsMax || taps.contains { $0.keptUntil <= now }
            || moved.contains { $0.rowsKeptUntil <= now }
            || refused.contains { $0.at + Retention.reportMilliseconds <= now }
    }

    private mutating func pruneEntries(at now: Int64, for app: App) {
        let known = self
        formerRecipients.removeAll { $0.rowsKeptUntil <= now }
        activities.removeAll { $0.keptUntil(for: app) <= now }
        startTokens.removeAll { start in
            guard start.lastReportAt + Retention.reportMilliseconds <= now else { return false }
            return start.belongs(to: known.environment?.value) && !known.isUsable(start)
                && !start.isUnregistered
        }
        refusedTokens.removeAll { $0.at + Retention.reportMilliseconds <= now }
        taps.removeAll { $0.keptUntil <= now }
        if let time = erasedUpTo, Retention.erasureEnd(from: time) <= now { erasedUpTo = nil }
        while hasTooManyTypes(for: app) {
            startTokens.removeSmallest { start in
                Self.isUndeclared(start, in: app) ? (start.lastReportAt, start.type ?? "") : (.max, "")
            }
        }
        while activities.count > Self.activitiesMax {
            activities.removeSmallest { ($0.lastReportAt, $0.id) }
        }
        while startTokens.count > Self.startTokensMax {
            startTokens.removeSmallest { ($0.lastReportAt, $0.type ?? "") }
        }
        while refusedTokens.count > Self.refusedTokensMax {
            refusedTokens.removeSmallest { ($0.at, $0.hash) }
        }
        while taps.count > Self.tapsMax {
            let oldest = taps.removeSmallest { ($0.at, $0.id ?? "") }
            tapsPrunedUpTo = max(tapsPrunedUpTo ?? .min, oldest.at)
        }
        if formerRecipients.count > Self.formerRecipientsMax {
            formerRecipients.removeFirst(formerRecipients.count - Self.formerRecipientsMax)
        }
    }

    private func hasTooManyTypes(for app: App) -> Bool {
        startTokens.count > Self.undeclaredTypesMax
            && startTokens.count { Self.isUndeclared($0, in: app) } > Self.undeclaredTypesMax
    }

    private static func isUndeclared(_ start: StartToken, in app: App) -> Bool {
        guard let type = start.type else { return false }
        return !app.activityTypes.contains { $0.name.isExactlyEqual(to: type) }
    }

    private mutating func pruneTokens(at now: Int64, for app: App) -> Bool {
        var hasPruned = updateTokenLifetimes(from: app)
        for index in startTokens.indices where hasUselessToken(startTokens[index]) {
            startTokens[index].token?.sealed = nil
            hasPruned = true
        }
        for index in activities.indices {
            let status = tokenStatus(of: activities[index], at: now)
            if status.isWorthless { activities[index].token?.sealed = nil }
            if let isExpired = status.isExpired { activities[index].isExpired = isExpired }
            if status.isWorthless || status.isExpired != nil { hasPruned = true }
        }
        return hasPruned
    }

    /// Updates the token lifetimes: the app's setting or the type of an activity may have changed.
    private mutating func updateTokenLifetimes(from app: App) -> Bool {
        var hasChanged = false
        for index in activities.indices {
            let lifetime = app.updateTokenMilliseconds(ofType: activities[index].type?.value)
            guard activities[index].tokenLifetimeMilliseconds != lifetime else { continue }
            activities[index].tokenLifetimeMilliseconds = lifetime
            hasChanged = true
        }
        return hasChanged
    }

    private func hasUselessToken(_ start: StartToken) -> Bool {
        guard let token = start.token, token.sealed != nil else { return false }
        return isRefused(token)
    }

    /// Returns whether the token is useless, and the new `isExpired` if it differs from the stored one.
    private func tokenStatus(
        of activity: Activity, at now: Int64
    ) -> (isWorthless: Bool, isExpired: Bool?) {
        guard let token = activity.token else { return (false, nil) }
        let isClosed = activity.closing != nil
        let isWorthless = token.sealed != nil && (isClosed || isRefused(token))
        let isExpired = expirationTime(of: activity) <= now
        return (isWorthless, isExpired == activity.isExpired ? nil : isExpired)
    }

    /// Whether an activity is marked as expired before its token expires.
    func hasExpiredTooSoon(at now: Int64, for app: App) -> Bool {
        activities.contains { activity in
            guard activity.isExpired, activity.token?.sealed != nil else { return false }
            return expirationTime(of: activity) > now
        }
    }

    /// Whether the installation holds nothing that justifies its record.
    func isObsolete(at now: Int64, tokenlessMilliseconds milliseconds: Int64) -> Bool {
        if environment == nil, self == Installation(app: app, subject: subject) { return true }
        guard let end = tokenlessExpiry(afterMilliseconds: milliseconds) else { return false }
        return end <= now && erasedUpTo == nil && activities.isEmpty && formerRecipients.isEmpty
    }

    /// Returns the time at which an installation without start tokens is forgotten. Returns nil if it has
    /// one.
    private func tokenlessExpiry(afterMilliseconds milliseconds: Int64) -> Int64? {
        guard case .installation = subject else { return nil }
        for start in startTokens where start.token?.sealed != nil && !start.isUnregistered {
            return nil
        }
        // Every report of a phone carries its environment.
        return (environment?.at.received ?? refusedTokens.map(\.at).max() ?? 0) + milliseconds
    }

    /// Returns the next time at which `forget` or `isObsolete` has an effect, or nil for never.
    func nextPruning(for app: App, tokenlessMilliseconds milliseconds: Int64) -> Int64? {
        var next = tokenlessExpiry(afterMilliseconds: milliseconds) ?? .max
        if let erasedUpTo { next = min(next, Retention.erasureEnd(from: erasedUpTo)) }
        for moved in formerRecipients { next = min(next, moved.rowsKeptUntil) }
        for activity in activities {
            let isHeld = activity.token?.sealed != nil && !activity.isExpired
            let life = app.updateTokenMilliseconds(ofType: activity.type?.value)
            if activity.tokenLifetimeMilliseconds != life { return 0 }
            next = min(next, isHeld ? expirationTime(of: activity) : activity.keptUntil(for: app))
        }
        return next == .max ? nil : next
    }
}

extension Installation.Activity {
    fileprivate func keptUntil(for app: App) -> Int64 {
        let lifetime = app.updateTokenMilliseconds(ofType: type?.value)
        return lastReportAt + Retention.activityMilliseconds(tokenMilliseconds: lifetime)
    }
}

extension Installation.Tap {
    /// After this time no report of the tap can arrive.
    fileprivate var keptUntil: Int64 {
        at + Retention.reportMilliseconds + ReportTime.delayMillisecondsMax
    }
}

extension Installation.StartToken {
    var lastReportAt: Int64 { max(token?.at.received ?? 0, unregisteredAt?.received ?? 0) }

    /// Whether the token belongs to `environment`. A token of another environment stays until its app
    /// returns.
    fileprivate func belongs(to environment: Environment?) -> Bool {
        token == nil || token?.environment == environment
    }
}

extension Array {
    /// Removes the element with the smallest time. Ties are broken by name, so that the order of arrival does
    /// not matter.
    @discardableResult
    fileprivate mutating func removeSmallest(by measure: (Element) -> (time: Int64, name: String)) -> Element
    {
        guard let least = indices.min(by: { measure(self[$0]) < measure(self[$1]) }) else {
            preconditionFailure("there are more than a limit allows")
        }
        return remove(at: least)
    }
}
