internal import Identifiers
package import InstallationRecords

/// The registry rows of one installation record. They are a function of that record alone, so the rows cannot
/// contradict the record. A lost row can be written again from it.
package struct RegistryRows {
    /// A recipient that owns the rows: the present one, or one that the installation left.
    struct Owner: Equatable {
        var recipient: Recipient
        var movedAt: Int64?
        var movedTo: Recipient?
        var movedInAt: Int64?
    }

    private let app: String
    private let installation: String?
    let entries: [(entry: RegistryKey.Entry, row: RegistryRow)]
    /// The present recipient is the first lane.
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
        let present = installation.recipient
        var owners = [Owner(recipient: present, movedAt: installation.movedAt)]
        // A profile without tokens is useless to an earlier start, because there is no token to start with.
        if !entries.isEmpty {
            for moved in installation.formerRecipients {
                owners.append(
                    Owner(
                        recipient: moved.recipient, movedAt: moved.at, movedTo: present,
                        movedInAt: moved.joinedAt))
            }
        }
        if let profile = installation.profileRow { entries.append((.profile, .profile(profile))) }
        (self.entries, self.owners) = (entries, owners)
    }

    /// Whether there is a token that a start or an update can use.
    var hasTokens: Bool { entries.first.map { $0.entry != .profile } ?? false }

    package var list: [(key: RegistryKey, row: RegistryRow)] {
        owners.flatMap { lane in entries.indices.map { (key(at: $0, of: lane), row(at: $0, of: lane)) } }
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

    /// Returns the index of an entry. It usually keeps its index.
    func index(of entry: RegistryKey.Entry, near guess: Int) -> Int? {
        if guess < entries.count, entries[guess].entry == entry { return guess }
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

    func row(for start: StartToken) -> TokenRow? {
        guard let token = start.token, isUsable(start) else { return nil }
        return TokenRow(
            environment: token.environment, token: token.sealed, tokenHash: token.hash,
            attributesType: start.type, unregisteredTypes: start.type == nil ? unwantedTypes : nil,
            registeredAt: token.at.received, os: os?.value,
            frequentPushesEnabled: frequentPushesEnabled?.value,
            activitiesEnabled: activitiesEnabled?.value)
    }

    /// The types that a token for all types must not start.
    private var unwantedTypes: [String]? {
        let types = startTokens.filter(\.isUnregistered).compactMap(\.type)
        return types.isEmpty ? nil : types.sorted { $1.takesPrecedence(over: $0) }
    }

    /// Returns the dismissal unless an erasure covers it. An erased dismissal must not appear in a row.
    private func dismissal(of activity: Activity) -> ReportTime? {
        guard let at = activity.closing?.dismissedByPersonAt else { return nil }
        if let erasedUpTo, at <= erasedUpTo { return nil }
        return at
    }

    func hasRow(for activity: Activity) -> Bool {
        if dismissal(of: activity) != nil { return true }
        guard let token = activity.token, !activity.isExpired else { return false }
        return isUsable(token) && endCause(of: activity) == nil
    }

    func row(for activity: Activity) -> TokenRow? {
        guard hasRow(for: activity) else { return nil }
        if let dismissed = dismissal(of: activity) {
            return TokenRow(
                environment: environment?.value ?? .production, token: nil, tokenHash: nil,
                attributesType: activity.type?.value, group: activity.group?.value,
                registeredAt: dismissed.received,
                expiresAt: activity.lastReportAt
                    + Retention.activityMilliseconds(tokenMilliseconds: activity.tokenLifetimeMilliseconds),
                dismissedAt: dismissed.received)
        }
        guard let token = activity.token else { return nil }
        return TokenRow(
            environment: token.environment, token: token.sealed, tokenHash: token.hash,
            attributesType: activity.type?.value, group: activity.group?.value,
            registeredAt: token.at.received, expiresAt: expirationTime(of: activity), os: os?.value,
            frequentPushesEnabled: frequentPushesEnabled?.value,
            activitiesEnabled: activitiesEnabled?.value,
            channel: activity.channel?.value)
    }

    /// Nil if no report contained a profile value that the token rows lack.
    var profileUpdatedAt: Int64? {
        let time = max(profileReportedAt?.received ?? -1, appBuild?.at.received ?? -1)
        return time >= 0 ? time : nil
    }

    var profileRow: ProfileRow? {
        guard let heard = profileUpdatedAt else { return nil }
        return ProfileRow(
            tags: tags?.value ?? [], attributes: attributes?.value,
            locale: locale?.value,
            timeZone: timeZone?.value, os: os?.value, appBuild: appBuild?.value,
            updatedAt: heard)
    }
}
