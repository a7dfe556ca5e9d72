// Decides which parts of an installation's record are alive. The result depends only on the facts and their
// times, never on the order in which reports arrived.

extension Installation {
    /// Whether APNs may accept the token, as far as reports show. Its environment must be the app's current
    /// environment on the phone, and APNs must not have refused it since it was reported.
    package func isUsable(_ token: Token) -> Bool {
        token.sealed != nil && token.environment == environment?.value && !isRefused(token)
    }

    package func isUsable(_ start: Start) -> Bool {
        guard let token = start.token, isUsable(token) else { return false }
        return !start.isUnwanted
    }

    package func isRefused(_ token: Token) -> Bool {
        !refused.isEmpty
            && refused.contains { token.at.received <= $0.at && $0.hash == token.hash }
    }

    /// Returns the reason why an activity is over, or nil while it runs.
    package func overBy(_ activity: Activity) -> Event.Cause? {
        if let closing = activity.closing {
            return closing.dismissedByPersonAt == nil ? .ended : .dismissed
        }
        guard let heard = activity.heardAt else { return nil }
        if let type = activity.type?.value, let unregistered = unregisteredAt(type), heard <= unregistered {
            return .unregistered
        }
        // A report with the same time as the list, from another body, may be newer than the list. So only
        // older reports count.
        if let listed = running?.at, heard < listed, !isListed(activity) { return .notRunning }
        return nil
    }

    private func unregisteredAt(_ type: String) -> ReportTime? {
        for index in starts.indices where starts[index].type.isExactly(type) {
            return starts[index].unregisteredAt
        }
        return nil
    }

    /// Whether the newest list of running activities contains the activity.
    private func isListed(_ activity: Activity) -> Bool {
        running?.value.contains { $0.isExactly(activity.id) } ?? false
    }

    /// Returns the time at which the activity's token is forgotten, unless a new report about the activity
    /// arrives.
    package func expiresAt(_ activity: Activity) -> Int64 {
        var last = max(activity.heardAt?.received ?? 0, activity.token?.at.received ?? 0)
        if let listed = running?.at.received, listed > last, isListed(activity) { last = listed }
        return last + activity.tokenMilliseconds
    }
}

extension Installation.Start {
    /// Whether the installation wants no activities of this type, whichever token could start them.
    package var isUnwanted: Bool {
        guard let unregisteredAt else { return false }
        guard let token else { return true }
        return token.at <= unregisteredAt
    }
}

extension Installation.Activity {
    /// The server's time of the newest report about the activity.
    package var lastWordAt: Int64 {
        max(
            heardAt?.received ?? 0, token?.at.received ?? 0, closing?.endedAt?.received ?? 0,
            closing?.dismissedAt?.received ?? 0)
    }
}
