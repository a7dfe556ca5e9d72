internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords

// The effects of time on an installation: tokens become useless, entries expire, and the installation itself is
// forgotten. All times are milliseconds since 1970 by the server's clock.

extension Installation {
    /// Drops tokens that cannot be used any more, and entries that have expired or exceed a limit. Returns whether
    /// something was dropped.
    ///
    /// The record of an activity outlives its token by the longest delay of a report. Until then the record
    /// rejects older reports, and late reports still count.
    @discardableResult
    mutating func prune(at now: Int64, for app: App) -> Bool {
        let hasPrunedTokens = pruneTokens(at: now, for: app)
        guard needsPruning(at: now, for: app) else { return hasPrunedTokens }
        let entryCountBefore = entryCount
        pruneEntries(at: now, for: app)
        return hasPrunedTokens || entryCount < entryCountBefore
    }

    // MARK: Entries

    private var entryCount: Int {
        startTokens.count + activities.count + refusedTokens.count + formerRecipients.count
            + taps.count + (erasedUpTo == nil ? 0 : 1)
    }

    /// Whether `pruneEntries` can drop something. Usually it cannot, and this check avoids a mutation, which would copy
    /// the arrays.
    private func needsPruning(at now: Int64, for app: App) -> Bool {
        hasExpiredEntry(at: now, for: app) || hasTooManyEntries(for: app)
    }

    private func hasExpiredEntry(at now: Int64, for app: App) -> Bool {
        let (activities, starts) = (activities, startTokens)
        for index in activities.indices
        where activities[index].keptUntil(for: app) <= now { return true }
        for index in starts.indices
        where starts[index].lastReportAt + Retention.reportAgeMillisecondsMax <= now { return true }
        if let erasedUpTo, Retention.erasureEnd(from: erasedUpTo) <= now { return true }
        return taps.contains { $0.keptUntil <= now } || formerRecipients.contains { $0.rowsKeptUntil <= now }
            || refusedTokens.contains { $0.at + Retention.reportAgeMillisecondsMax <= now }
    }

    private func hasTooManyEntries(for app: App) -> Bool {
        activities.count > Self.activitiesMax || startTokens.count > Self.startTokensMax
            || hasTooManyTypes(for: app) || refusedTokens.count > Self.refusedTokensMax
            || formerRecipients.count > Self.formerRecipientsMax || taps.count > Self.tapsMax
    }

    private mutating func pruneEntries(at now: Int64, for app: App) {
        dropExpiredEntries(at: now, for: app)
        dropEntriesBeyondLimits(for: app)
    }

    private mutating func dropExpiredEntries(at now: Int64, for app: App) {
        let installation = self
        formerRecipients.removeAll { $0.rowsKeptUntil <= now }
        activities.removeAll { $0.keptUntil(for: app) <= now }
        startTokens.removeAll { start in
            guard start.lastReportAt + Retention.reportAgeMillisecondsMax <= now else { return false }
            return start.belongs(to: installation.environment?.value) && !installation.isUsable(start)
                && !start.isUnregistered
        }
        refusedTokens.removeAll { $0.at + Retention.reportAgeMillisecondsMax <= now }
        taps.removeAll { $0.keptUntil <= now }
        if let time = erasedUpTo, Retention.erasureEnd(from: time) <= now { erasedUpTo = nil }
    }

    /// Drops the oldest entries of each kind until its limit is kept.
    private mutating func dropEntriesBeyondLimits(for app: App) {
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

    /// Whether there are too many types that the app does not declare. A phone could otherwise add any number of them.
    private func hasTooManyTypes(for app: App) -> Bool {
        startTokens.count > Self.undeclaredTypesMax
            && startTokens.count { Self.isUndeclared($0, in: app) } > Self.undeclaredTypesMax
    }

    private static func isUndeclared(_ start: StartToken, in app: App) -> Bool {
        guard let type = start.type else { return false }
        return !app.activityTypes.contains { $0.name.isExactlyEqual(to: type) }
    }

    // MARK: Tokens

    /// Drops useless tokens, and marks the activities whose tokens have expired. Returns whether something changed.
    private mutating func pruneTokens(at now: Int64, for app: App) -> Bool {
        var hasPruned = updateTokenLifetimes(from: app)
        for index in startTokens.indices {
            guard let token = startTokens[index].token, token.sealed != nil, isRefused(token) else {
                continue
            }
            startTokens[index].token?.sealed = nil
            hasPruned = true
        }
        for index in activities.indices {
            guard let token = activities[index].token else { continue }
            let isExpired = expirationTime(of: activities[index]) <= now
            let isUseless = activities[index].closing != nil || isRefused(token)
            if isUseless, token.sealed != nil {
                activities[index].token?.sealed = nil
                hasPruned = true
            }
            if activities[index].isExpired != isExpired {
                activities[index].isExpired = isExpired
                hasPruned = true
            }
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

    /// Whether an activity is marked as expired before its token expires. A clock that was ahead can have caused this.
    func hasExpiredTooSoon(at now: Int64, for app: App) -> Bool {
        activities.contains { activity in
            guard activity.isExpired, activity.token?.sealed != nil else { return false }
            return expirationTime(of: activity) > now
        }
    }

    // MARK: The installation

    /// Whether the installation is forgotten, because it is empty or has had no start token for too long.
    func isObsolete(at now: Int64, tokenlessMilliseconds milliseconds: Int64) -> Bool {
        let isEmpty = environment == nil && self == Installation(app: app, subject: subject)
        if isEmpty { return true }
        guard let expiry = tokenlessExpiry(afterMilliseconds: milliseconds) else { return false }
        return expiry <= now && erasedUpTo == nil && activities.isEmpty && formerRecipients.isEmpty
    }

    /// Returns the time at which an installation without a start token is forgotten. Returns nil if it has one, or if
    /// it is a user's profile.
    private func tokenlessExpiry(afterMilliseconds milliseconds: Int64) -> Int64? {
        guard case .installation = subject else { return nil }
        for start in startTokens where start.token?.sealed != nil && !start.isUnregistered {
            return nil
        }
        // Every report of a phone carries its environment. Without it, only refusals of its tokens have arrived.
        return (environment?.at.received ?? refusedTokens.map(\.at).max() ?? 0) + milliseconds
    }

    /// Returns the time of the next sweep that can change a row, or forget the installation. Nil for never, and zero
    /// for at once. Expired taps, refusals and start tokens have no rows, so they stay until the next report or sweep.
    func nextPruning(for app: App, tokenlessMilliseconds milliseconds: Int64) -> Int64? {
        var next = tokenlessExpiry(afterMilliseconds: milliseconds) ?? .max
        if let erasedUpTo { next = min(next, Retention.erasureEnd(from: erasedUpTo)) }
        for former in formerRecipients { next = min(next, former.rowsKeptUntil) }
        for activity in activities {
            let hasLiveToken = activity.token?.sealed != nil && !activity.isExpired
            let lifetime = app.updateTokenMilliseconds(ofType: activity.type?.value)
            // The app's setting has changed.
            if activity.tokenLifetimeMilliseconds != lifetime { return 0 }
            next = min(next, hasLiveToken ? expirationTime(of: activity) : activity.keptUntil(for: app))
        }
        return next == .max ? nil : next
    }
}

extension Installation.Activity {
    /// The time until which the record of the activity rejects older reports.
    fileprivate func keptUntil(for app: App) -> Int64 {
        let lifetime = app.updateTokenMilliseconds(ofType: type?.value)
        return lastReportAt + Retention.activityMilliseconds(tokenMilliseconds: lifetime)
    }
}

extension Installation.Tap {
    /// The time after which no report of the tap can arrive.
    fileprivate var keptUntil: Int64 {
        at + Retention.reportAgeMillisecondsMax + ReportTime.delayMillisecondsMax
    }
}

extension Installation.StartToken {
    /// The server's time of the newest report about the token or its type.
    var lastReportAt: Int64 { max(token?.at.received ?? 0, unregisteredAt?.received ?? 0) }

    /// Whether the token belongs to `environment`. A token of the other environment stays for the time when the phone
    /// reports from it again.
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
        guard let index = indices.min(by: { measure(self[$0]) < measure(self[$1]) }) else {
            preconditionFailure("an array above its limit has no element")
        }
        return remove(at: index)
    }
}
