package import LiveActivity

/// The rows of the registry that an installation's record stands for: a function of that record alone,
/// so the truth and its view cannot come apart, and whoever has lost the view writes it anew.
package struct RegistryRows {
    package private(set) var list: [(key: RegistryKey, row: RegistryRow)] = []

    package init(of installation: Installation?, app: App) {
        guard let installation else { return }
        let id: String? = if case .installation(let id) = installation.subject { id } else { nil }
        var entries: [(RegistryKey.Entry, RegistryRow)] = []
        if id != nil { entries = installation.tokenRows(app) }
        let hasTokens = !entries.isEmpty
        if let profile = installation.profileRow { entries.append((.profile, .profile(profile))) }
        list.reserveCapacity(entries.count)
        let recipient = installation.recipient
        func add(under recipient: Recipient, movedAt: Int64?, to newer: Recipient?) {
            for (entry, row) in entries {
                let key = RegistryKey(
                    app: installation.app, recipient: recipient, installation: id, entry: entry)
                list.append((key, row.moved(at: movedAt, to: newer)))
            }
        }
        add(under: recipient, movedAt: installation.movedAt, to: nil)
        // Profiles alone are of no use to a start that was accepted before: there is nothing to start with.
        guard hasTokens else { return }
        for moved in installation.moved { add(under: moved.recipient, movedAt: moved.at, to: recipient) }
    }

    var index: Index { Index(list) }

    /// Finds rows by their keys: an installation has few, and then looking beats hashing.
    struct Index {
        private static let lookedAtMax = 12
        private let list: [(key: RegistryKey, row: RegistryRow)]
        private let places: [RegistryKey: Int]?

        init(_ list: [(key: RegistryKey, row: RegistryRow)]) {
            self.list = list
            places =
                list.count <= Self.lookedAtMax
                ? nil
                : Dictionary(uniqueKeysWithValues: list.indices.map { (list[$0].key, $0) })
        }

        func find(_ key: RegistryKey) -> Int? {
            if let places { return places[key] }
            return list.firstIndex { $0.key.entry == key.entry && $0.key == key }
        }
    }
}

extension RegistryRow {
    fileprivate func moved(at time: Int64?, to newer: Recipient?) -> RegistryRow {
        guard let time, case .token(var row) = self else { return self }
        row.movedAt = time
        row.movedTo = newer
        return .token(row)
    }
}

extension Installation {
    fileprivate func tokenRows(_ app: App) -> [(RegistryKey.Entry, RegistryRow)] {
        var rows: [(RegistryKey.Entry, RegistryRow)] = []
        for start in starts {
            guard let token = start.token, isUsable(start) else { continue }
            rows.append((.start(type: start.type), .token(row(token, type: start.type))))
        }
        for activity in activities {
            guard let row = row(activity, app) else { continue }
            rows.append((.update(activity: activity.id), .token(row)))
        }
        return rows
    }

    private func row(_ activity: Activity, _ app: App) -> TokenRow? {
        let life = app.updateTokenMilliseconds(activity.type?.value)
        var row: TokenRow
        if let closing = activity.closing, closing.isDismissed {
            row = TokenRow(
                environment: environment?.value ?? .production, token: "", tokenHash: "",
                attributesType: activity.type?.value, registeredAt: closing.at.received)
            row.dismissedAt = closing.at.received
            row.expiresAt = activity.lastWordAt + Retention.activity(tokenMilliseconds: life)
        } else {
            guard let token = activity.token, !activity.isExpired, isUsable(token), overBy(activity) == nil
            else { return nil }
            row = self.row(token, type: activity.type?.value)
            row.expiresAt = expiresAt(activity, life)
            row.channel = activity.channel?.value
        }
        row.group = activity.group?.value
        return row
    }

    private func row(_ token: Token, type: String?) -> TokenRow {
        var row = TokenRow(
            environment: token.environment, token: token.sealed, tokenHash: token.hash, attributesType: type,
            registeredAt: token.at.received)
        row.os = os?.value
        row.frequentPushesEnabled = frequentPushesEnabled?.value
        row.activitiesEnabled = activitiesEnabled?.value
        return row
    }

    /// Nil where nothing was said that a segment could look at beyond what the tokens' rows have.
    fileprivate var profileRow: ProfileRow? {
        let heard = max(profileHeardAt?.received ?? -1, appBuild?.at.received ?? -1)
        guard heard >= 0 else { return nil }
        var row = ProfileRow(tags: tags?.value ?? [], attributes: attributes?.value, updatedAt: heard)
        row.locale = locale?.value
        row.timeZone = timeZone?.value
        row.os = os?.value
        row.appBuild = appBuild?.value
        return row
    }
}
