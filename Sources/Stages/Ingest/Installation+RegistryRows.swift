internal import Identifiers
internal import InstallationRecords

// The registry rows of an installation's start tokens, activities and profile. The times in rows are milliseconds since
// 1970 by the server's clock.

extension Installation {
    // MARK: Tokens

    /// Returns the row of a start token, or nil if a send cannot use it.
    func row(for start: StartToken) -> TokenRow? {
        guard let token = start.token, isUsable(start) else { return nil }
        return TokenRow(
            environment: token.environment, token: token.sealed, tokenHash: token.hash,
            attributesType: start.type, unregisteredTypes: start.type == nil ? unregisteredTypes : nil,
            registeredAt: token.at.received, os: os?.value,
            frequentPushesEnabled: frequentPushesEnabled?.value,
            activitiesEnabled: activitiesEnabled?.value, isUnproven: token.isUnproven)
    }

    /// The types that a token for all types must not start.
    private var unregisteredTypes: [String]? {
        let types = startTokens.filter(\.isUnregistered).compactMap(\.type)
        return types.isEmpty ? nil : types.sorted { $1.takesPrecedence(over: $0) }
    }

    // MARK: Activities

    /// Returns the time at which the person dismissed the activity. An erased dismissal must not appear in a row.
    private func dismissal(of activity: Activity) -> ReportTime? {
        guard let dismissedAt = activity.closing?.dismissedByPersonAt else { return nil }
        if let erasedUpTo, dismissedAt <= erasedUpTo { return nil }
        return dismissedAt
    }

    /// Whether `row(for:)` returns a row. It costs less than the row.
    func hasRow(for activity: Activity) -> Bool {
        if dismissal(of: activity) != nil { return true }
        guard let token = activity.token, !activity.isExpired else { return false }
        return isUsable(token) && endCause(of: activity) == nil
    }

    /// Returns the row of an activity: its dismissal, or its token while it runs.
    func row(for activity: Activity) -> TokenRow? {
        guard hasRow(for: activity) else { return nil }
        if let dismissal = dismissal(of: activity) {
            return TokenRow(
                environment: environment?.value ?? .production, token: nil, tokenHash: nil,
                attributesType: activity.type?.value, group: activity.group?.value,
                registeredAt: dismissal.received,
                expiresAt: activity.lastReportAt
                    + Retention.activityMilliseconds(tokenMilliseconds: activity.tokenLifetimeMilliseconds),
                dismissedAt: dismissal.received)
        }
        guard let token = activity.token else { return nil }
        return TokenRow(
            environment: token.environment, token: token.sealed, tokenHash: token.hash,
            attributesType: activity.type?.value, group: activity.group?.value,
            registeredAt: token.at.received, expiresAt: expirationTime(of: activity), os: os?.value,
            frequentPushesEnabled: frequentPushesEnabled?.value,
            activitiesEnabled: activitiesEnabled?.value,
            channel: activity.channel?.value, isUnproven: token.isUnproven)
    }

    // MARK: Profile

    /// The time of the newest report about a value that a segment can test.
    var profileReportedAt: ReportTime? {
        var newest = tags?.at
        func raiseNewest(to time: ReportTime?) {
            if let time, newest.map({ $0 < time }) ?? true { newest = time }
        }
        raiseNewest(to: attributes?.at)
        raiseNewest(to: locale?.at)
        raiseNewest(to: timeZone?.at)
        return newest
    }

    /// The server's time of the newest profile value. Nil if no report contained such a value. The operating system
    /// does not count, because the token rows have it too.
    var profileUpdatedAt: Int64? {
        guard let profileTime = profileReportedAt?.received else { return appBuild?.at.received }
        return max(profileTime, appBuild?.at.received ?? profileTime)
    }

    /// The row of the profile. Nil if no report contained one of its values.
    var profileRow: ProfileRow? {
        guard let updatedAt = profileUpdatedAt else { return nil }
        return ProfileRow(
            tags: tags?.value, attributes: attributes?.value,
            locale: locale?.value,
            timeZone: timeZone?.value, os: os?.value, appBuild: appBuild?.value,
            updatedAt: updatedAt)
    }
}
