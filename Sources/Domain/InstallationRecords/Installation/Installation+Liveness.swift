internal import Identifiers

// The rules by which parts of an installation's record are alive. They depend only on the facts and their
// times, never on the order in which reports arrived.

extension Installation {
    /// Whether APNs may accept the token, as far as reports show. Its environment must be the app's current
    /// environment on the phone, and APNs must not have refused it since it was reported.
    package func isUsable(_ token: Token) -> Bool {
        token.sealed != nil && token.environment == environment?.value && !isRefused(token)
    }

    /// Whether the start token is usable and its activity type is not unregistered.
    package func isUsable(_ start: StartToken) -> Bool {
        guard let token = start.token, isUsable(token) else { return false }
        return !start.isUnregistered
    }

    /// Whether APNs has refused the token since the phone's newest report of it.
    package func isRefused(_ token: Token) -> Bool {
        !refusedTokens.isEmpty
            && refusedTokens.contains { token.at.received <= $0.at && $0.hash == token.hash }
    }

    /// Returns the reason why an activity is over, or nil while it runs.
    package func endCause(of activity: Activity) -> Event.Cause? {
        if let closing = activity.closing {
            return closing.dismissedByPersonAt == nil ? .ended : .dismissed
        }
        guard let lastSeenAt = activity.lastSeenAt else { return nil }
        if let type = activity.type?.value, let unregisteredAt = unregistrationTime(ofType: type),
            lastSeenAt <= unregisteredAt
        {
            return .unregistered
        }
        // A report with the same time as the list, from another request body, may be newer than the list. So
        // the list ends only activities whose newest sign is older.
        if let listedAt = runningActivities?.at, lastSeenAt < listedAt, !isListed(activity) {
            return .notRunning
        }
        return nil
    }

    private func unregistrationTime(ofType type: String) -> ReportTime? {
        for index in startTokens.indices where startTokens[index].type.isExactlyEqual(to: type) {
            return startTokens[index].unregisteredAt
        }
        return nil
    }

    /// Whether the newest list of running activities contains the activity.
    private func isListed(_ activity: Activity) -> Bool {
        runningActivities?.value.contains { $0.isExactlyEqual(to: activity.id) } ?? false
    }

    /// Returns the time at which the activity's token expires, unless a new report about the activity
    /// arrives: milliseconds since 1970 by the server's clock.
    package func expirationTime(of activity: Activity) -> Int64 {
        var refreshedAt = max(activity.lastSeenAt?.received ?? 0, activity.token?.at.received ?? 0)
        if let listedAt = runningActivities?.at.received, listedAt > refreshedAt, isListed(activity) {
            refreshedAt = listedAt
        }
        return refreshedAt + activity.tokenLifetimeMilliseconds
    }
}

extension Installation.StartToken {
    /// Whether the installation wants no activities of this type, whichever token could start them.
    package var isUnregistered: Bool {
        guard let unregisteredAt else { return false }
        guard let token else { return true }
        return token.at <= unregisteredAt
    }
}

extension Installation.Activity {
    /// The time of the newest report about the activity: milliseconds since 1970 by the server's clock.
    package var lastReportAt: Int64 {
        max(
            lastSeenAt?.received ?? 0, token?.at.received ?? 0, closing?.endedAt?.received ?? 0,
            closing?.dismissedAt?.received ?? 0)
    }
}
