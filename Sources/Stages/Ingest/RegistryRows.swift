internal import Identifiers
package import InstallationRecords

/// The registry rows of one installation. Each recipient that owns the installation, or has left it lately, has a copy
/// of all its entries.
///
/// The rows are a function of the installation's record alone, so they cannot contradict it, and a lost row can be
/// written again.
package struct RegistryRows {
    /// A recipient that owns the rows: the present one, or one that the installation left.
    struct Owner: Equatable {
        var recipient: Recipient
        /// The time of the newest move: to the present recipient, or away from a former one.
        var movedAt: Int64?
        /// The present recipient, for a former one.
        var movedTo: Recipient?
        /// The time at which the installation had moved to a former recipient.
        var movedInAt: Int64?
    }

    private let app: String
    private let installation: String?
    let entries: [(entry: RegistryKey.Entry, row: RegistryRow)]
    /// The present recipient is the first owner.
    let owners: [Owner]

    package init(of installation: Installation?) {
        guard let installation else {
            (app, self.installation) = ("", nil)
            (entries, owners) = ([], [])
            return
        }
        app = installation.app
        var entries: [(RegistryKey.Entry, RegistryRow)] = []
        if case .installation(let id) = installation.subject {
            self.installation = id
            entries = installation.tokenRows
        } else {
            self.installation = nil
        }
        let presentRecipient = installation.recipient
        var owners = [Owner(recipient: presentRecipient, movedAt: installation.movedAt)]
        // Sends to a former recipient need a token. Without tokens its copy of the profile is useless.
        if !entries.isEmpty {
            for former in installation.formerRecipients {
                owners.append(
                    Owner(
                        recipient: former.recipient, movedAt: former.at, movedTo: presentRecipient,
                        movedInAt: former.joinedAt))
            }
        }
        if let profile = installation.profileRow { entries.append((.profile, .profile(profile))) }
        (self.entries, self.owners) = (entries, owners)
    }

    /// Whether there is a token that a start or an update can use. The profile is the last entry.
    var hasTokens: Bool { entries.first.map { $0.entry != .profile } ?? false }

    package var list: [(key: RegistryKey, row: RegistryRow)] {
        owners.flatMap { owner in
            entries.indices.map { (key(at: $0, of: owner), row(at: $0, of: owner)) }
        }
    }

    func key(at index: Int, of owner: Owner) -> RegistryKey {
        RegistryKey(
            app: app, recipient: owner.recipient, installation: installation, entry: entries[index].entry)
    }

    func row(at index: Int, of owner: Owner) -> RegistryRow {
        guard let time = owner.movedAt, case .token(var row) = entries[index].row else {
            return entries[index].row
        }
        row.movedAt = time
        row.movedTo = owner.movedTo
        row.arrivedAt = owner.movedInAt
        return .token(row)
    }

    /// Returns the index of an entry. Entries usually keep their index, so `likelyIndex` is tried first.
    func index(of entry: RegistryKey.Entry, near likelyIndex: Int) -> Int? {
        if likelyIndex < entries.count, entries[likelyIndex].entry == entry { return likelyIndex }
        return entries.firstIndex { $0.entry == entry }
    }
}

extension Installation {
    fileprivate var tokenRows: [(RegistryKey.Entry, RegistryRow)] {
        var rows: [(RegistryKey.Entry, RegistryRow)] = []
        rows.reserveCapacity(startTokens.count + activities.count + 1)
        for start in startTokens {
            guard let row = row(for: start) else { continue }
            rows.append((.start(type: start.type), .token(row)))
        }
        for activity in activities {
            guard let row = row(for: activity) else { continue }
            rows.append((.update(activity: activity.id), .token(row)))
        }
        return rows
    }

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

    /// The server's time of the newest profile value. Nil if no report contained a value that the token rows lack.
    var profileUpdatedAt: Int64? {
        let unknown: Int64 = -1
        let newest = max(profileReportedAt?.received ?? unknown, appBuild?.at.received ?? unknown)
        return newest >= 0 ? newest : nil
    }

    var profileRow: ProfileRow? {
        guard let updatedAt = profileUpdatedAt else { return nil }
        return ProfileRow(
            tags: tags?.value ?? [], attributes: attributes?.value,
            locale: locale?.value,
            timeZone: timeZone?.value, os: os?.value, appBuild: appBuild?.value,
            updatedAt: updatedAt)
    }
}
