internal import Identifiers
package import InstallationRecords

/// The registry rows of one installation. Each recipient that owns the installation, or has left it lately, has a copy
/// of all its entries.
///
/// The rows are a function of the installation's record alone, so they cannot contradict it, and a lost row can be
/// written again.
package struct RegistryRows {
    /// A recipient that owns the rows: the present one, or one that the installation left. Times are milliseconds since
    /// 1970.
    struct Owner: Equatable {
        var recipient: Recipient
        /// The time of the newest move: to the present recipient, or away from a former one.
        var movedAt: Int64?
        /// For a former recipient: the present one.
        var movedTo: Recipient?
        /// For a former recipient: the time at which the installation had moved to it.
        var movedInAt: Int64?
    }

    private let app: String
    private let installation: String?
    /// The rows without the recipient's times: first the tokens, then the profile.
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

    /// Whether there is a row other than the profile, which is the last entry.
    var hasTokens: Bool { entries.first.map { $0.entry != .profile } ?? false }

    /// The rows of all owners.
    package var list: [(key: RegistryKey, row: RegistryRow)] {
        owners.flatMap { owner in
            entries.indices.map { (key(at: $0, of: owner), row(at: $0, of: owner)) }
        }
    }

    /// - Parameter index: the index of the entry.
    func key(at index: Int, of owner: Owner) -> RegistryKey {
        RegistryKey(
            app: app, recipient: owner.recipient, installation: installation, entry: entries[index].entry)
    }

    /// - Parameter index: the index of the entry.
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
    /// The rows of start tokens and activities.
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
}
