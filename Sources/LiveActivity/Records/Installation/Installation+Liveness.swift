// What of an installation's record is alive. All of it follows from what was said and when; nothing
// depends on the order in which it arrived.

extension Installation {
    /// Whether APNs may take the token, as far as anybody has said: it is of the environment that the app
    /// on the phone has now, and was not refused since it was reported.
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

    /// Why an activity is over, or nil while it runs.
    package func overBy(_ activity: Activity) -> Event.Cause? {
        if let closing = activity.closing {
            return closing.dismissedByPersonAt == nil ? .ended : .dismissed
        }
        guard let heard = activity.heardAt else { return nil }
        if let type = activity.type?.value, let unregistered = unregisteredAt(type), heard <= unregistered {
            return .unregistered
        }
        // What was reported at the very time of the list, in another body, may have been reported just after it.
        if let listed = running?.at, heard < listed, !isListed(activity) { return .notRunning }
        return nil
    }

    private func unregisteredAt(_ type: String) -> ReportTime? {
        for index in starts.indices where starts[index].type.isExactly(type) {
            return starts[index].unregisteredAt
        }
        return nil
    }

    /// Whether the newest list of what runs names it.
    private func isListed(_ activity: Activity) -> Bool {
        running?.value.contains { $0.isExactly(activity.id) } ?? false
    }

    /// When the activity's token is forgotten unless the activity is heard of again.
    package func expiresAt(_ activity: Activity) -> Int64 {
        var last = max(activity.heardAt?.received ?? 0, activity.token?.at.received ?? 0)
        if let listed = running?.at.received, listed > last, isListed(activity) { last = listed }
        return last + activity.tokenMilliseconds
    }
}

extension Installation.Start {
    /// The installation wants no activities of this type, whichever token could start them.
    package var isUnwanted: Bool {
        guard let unregisteredAt else { return false }
        guard let token else { return true }
        return token.at <= unregisteredAt
    }
}

extension Installation.Activity {
    /// The server's time of the newest word on it.
    package var lastWordAt: Int64 {
        max(
            heardAt?.received ?? 0, token?.at.received ?? 0, closing?.endedAt?.received ?? 0,
            closing?.dismissedAt?.received ?? 0)
    }
}
