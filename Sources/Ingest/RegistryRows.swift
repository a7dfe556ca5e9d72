package import LiveActivity

/// The rows of the registry that an installation's record stands for: a function of that record alone,
/// so the truth and its view cannot come apart, and whoever has lost the view writes it anew.
package struct RegistryRows {
    /// A recipient under whom the entries stand: the present one, or one that was left.
    struct Lane: Equatable {
        var recipient: Recipient
        var movedAt: Int64?
        var movedTo: Recipient?
        var movedInAt: Int64?
    }

    private let app: String
    private let installation: String?
    let entries: [(entry: RegistryKey.Entry, row: RegistryRow)]
    /// The present recipient's comes first.
    let lanes: [Lane]

    package init(of installation: Installation?) {
        guard let installation else {
            (app, self.installation) = ("", nil)
            (entries, lanes) = ([], [])
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
        var lanes = [Lane(recipient: present, movedAt: installation.movedAt)]
        // Profiles alone are of no use to a start that was accepted before: there is nothing to start with.
        if !entries.isEmpty {
            for moved in installation.moved {
                lanes.append(
                    Lane(
                        recipient: moved.recipient, movedAt: moved.at, movedTo: present,
                        movedInAt: moved.since))
            }
        }
        if let profile = installation.profileRow { entries.append((.profile, .profile(profile))) }
        (self.entries, self.lanes) = (entries, lanes)
    }

    /// Whether there is anything that a start or an update could reach.
    var hasTokens: Bool { entries.first.map { $0.entry != .profile } ?? false }

    package var list: [(key: RegistryKey, row: RegistryRow)] {
        lanes.flatMap { lane in entries.indices.map { (key(of: $0, in: lane), row($0, in: lane)) } }
    }

    func key(of index: Int, in lane: Lane) -> RegistryKey {
        RegistryKey(
            app: app, recipient: lane.recipient, installation: installation, entry: entries[index].entry)
    }

    func row(_ index: Int, in lane: Lane) -> RegistryRow {
        guard let time = lane.movedAt, case .token(var row) = entries[index].row else {
            return entries[index].row
        }
        row.movedAt = time
        row.movedTo = lane.movedTo
        row.movedInAt = lane.movedInAt
        return .token(row)
    }

    /// Where an entry stands; it mostly stands where it stood.
    func index(of entry: RegistryKey.Entry, near guess: Int) -> Int? {
        if guess < entries.count, entries[guess].entry == entry { return guess }
        return entries.firstIndex { $0.entry == entry }
    }
}

extension Installation {
    fileprivate var tokenRows: [(RegistryKey.Entry, RegistryRow)] {
        var rows: [(RegistryKey.Entry, RegistryRow)] = []
        rows.reserveCapacity(starts.count + activities.count + 1)
        for start in starts {
            guard let row = row(start) else { continue }
            rows.append((.start(type: start.type), .token(row)))
        }
        for activity in activities {
            guard let row = row(activity) else { continue }
            rows.append((.update(activity: activity.id), .token(row)))
        }
        return rows
    }

    func row(_ start: Start) -> TokenRow? {
        guard let token = start.token, isUsable(start) else { return nil }
        return TokenRow(
            environment: token.environment, token: token.sealed, tokenHash: token.hash,
            attributesType: start.type, exceptTypes: start.type == nil ? unwantedTypes : nil,
            registeredAt: token.at.received, os: os?.value,
            frequentPushesEnabled: frequentPushesEnabled?.value,
            activitiesEnabled: activitiesEnabled?.value)
    }

    /// What a token that serves every type must not start.
    private var unwantedTypes: [String]? {
        let types = starts.filter(\.isUnwanted).compactMap(\.type)
        return types.isEmpty ? nil : types.sorted { $1.outranks($0) }
    }

    /// One that is to be forgotten says nothing to anybody.
    private func dismissal(of activity: Activity) -> ReportTime? {
        guard let at = activity.closing?.dismissedByPersonAt else { return nil }
        if let erasedAt, at <= erasedAt { return nil }
        return at
    }

    func hasRow(_ activity: Activity) -> Bool {
        if dismissal(of: activity) != nil { return true }
        guard let token = activity.token, !activity.isExpired else { return false }
        return isUsable(token) && overBy(activity) == nil
    }

    func row(_ activity: Activity) -> TokenRow? {
        guard hasRow(activity) else { return nil }
        if let dismissed = dismissal(of: activity) {
            return TokenRow(
                environment: environment?.value ?? .production, token: nil, tokenHash: nil,
                attributesType: activity.type?.value, group: activity.group?.value,
                registeredAt: dismissed.received,
                expiresAt: activity.lastWordAt
                    + Retention.activity(tokenMilliseconds: activity.tokenMilliseconds),
                dismissedAt: dismissed.received)
        }
        guard let token = activity.token else { return nil }
        return TokenRow(
            environment: token.environment, token: token.sealed, tokenHash: token.hash,
            attributesType: activity.type?.value, group: activity.group?.value,
            registeredAt: token.at.received, expiresAt: expiresAt(activity), os: os?.value,
            frequentPushesEnabled: frequentPushesEnabled?.value,
            activitiesEnabled: activitiesEnabled?.value,
            channel: activity.channel?.value)
    }

    /// Nil where nothing was said that a segment could look at beyond what the tokens' rows have.
    var profileUpdatedAt: Int64? {
        let heard = max(profileHeardAt?.received ?? -1, appBuild?.at.received ?? -1)
        return heard >= 0 ? heard : nil
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
