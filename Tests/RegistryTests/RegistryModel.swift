import Identifiers
import InstallationRecords
import JSON
import Simulation

@testable import Registry

/// A lane as a dictionary of the newest row of each key. It follows the same rules as the lane, but searches all rows
/// for each answer.
struct RegistryModel {
    var tokens: [RegistryKey: TokenRow] = [:]
    var profiles: [RegistryKey: ProfileRow] = [:]

    /// Whether a row is not served because another installation has a newer row with the same token. A token belongs to
    /// one installation, and the newest row names it.
    func isShadowed(_ key: RegistryKey) -> Bool {
        guard let row = tokens[key] else { return false }
        return tokens.contains { other, rival in
            // Another installation's row wins, unless one of this installation's rows is newer.
            guard !Self.isSameHolder(other, key), hasSameToken(rival, of: other, as: row, of: key) else {
                return false
            }
            return !tokens.contains { own, ownRow in
                Self.isSameHolder(own, key) && hasSameToken(ownRow, of: own, as: row, of: key)
                    && Self.isNewer(ownRow, of: own, than: rival, of: other)
            }
        }
    }

    private func hasSameToken(
        _ row: TokenRow, of key: RegistryKey, as other: TokenRow, of otherKey: RegistryKey
    ) -> Bool {
        key.app == otherKey.app && row.tokenHash == other.tokenHash && row.environment == other.environment
            && (row.movedTo == nil) == (other.movedTo == nil)
    }

    private static func isSameHolder(_ key: RegistryKey, _ other: RegistryKey) -> Bool {
        key.recipient == other.recipient && key.installation.isExactlyEqual(to: other.installation)
    }

    private static func isNewer(
        _ row: TokenRow, of key: RegistryKey, than other: TokenRow, of otherKey: RegistryKey
    ) -> Bool {
        if row.registeredAt != other.registeredAt { return row.registeredAt > other.registeredAt }
        return otherKey.bytes.lexicographicallyPrecedes(key.bytes)
    }

    /// Returns the rows that a walk through the selection must find, and the number of excluded rows by reason.
    func answer(to question: Question) -> Answer {
        var answer = Answer()
        for (key, row) in tokens where question.looks(at: row, of: key) {
            // An installation's token for the type has priority over the one for all types.
            if case .starts(let type) = question.selection.tokens, key.entry == .start(type: nil) {
                var typedKey = key
                typedKey.entry = .start(type: type)
                if let typedRow = tokens[typedKey],
                    exclusion(of: typedRow, key: typedKey, from: question.selection) == nil
                {
                    answer.exclusions[.reachedByTypedToken, default: 0] += 1
                    continue
                }
            }
            if let exclusion = exclusion(of: row, key: key, from: question.selection) {
                // Most activities without a group do not belong to the group of the selection.
                if case .possibleMembers = question.selection.tokens, row.group == nil { continue }
                answer.exclusions[exclusion, default: 0] += 1
            } else {
                answer.rows.insert(FoundRow(row, of: key))
            }
        }
        return answer
    }

    /// Returns the reason for which a row is not served to a selection.
    private func exclusion(
        of row: TokenRow, key: RegistryKey, from selection: TokenSelection
    ) -> ExclusionReason? {
        if row.dismissedAt != nil { return .dismissed }
        if row.activitiesEnabled == false { return .activitiesOff }
        if isShadowed(key) { return .shadowed }
        if !selection.environments.contains(row.environment) { return .otherEnvironment }
        if (row.expiresAt ?? .max) <= selection.now { return .expired }
        if let osMin = selection.osMin, let os = row.os.flatMap({ OSVersion($0) }), os < osMin {
            return .systemTooOld
        }
        if row.movedTo != nil {
            guard case .starts = selection.tokens, let accepted = selection.startAcceptedAt,
                let movedAt = row.movedAt, accepted < movedAt, accepted >= row.arrivedAt ?? 0
            else { return .movedAway }
        }
        if case .starts(let type) = selection.tokens, key.entry == .start(type: nil),
            row.unregisteredTypes?.contains(where: { $0.isExactlyEqual(to: type) }) == true
        {
            return .unregistered
        }
        if let dismissals = selection.dismissals, case .starts = selection.tokens,
            tokens.contains(where: { other, dismissed in
                other.app == key.app && Self.isSameHolder(other, key)
                    && dismissed.group.isExactlyEqual(to: dismissals.group)
                    && dismissed.dismissedAt ?? .min >= dismissals.since && other.isUpdate
            })
        {
            return .dismissed
        }
        return nil
    }
}

/// A selection of tokens, with the recipients that it names, or nil for all.
struct Question {
    var selection: TokenSelection
    var recipients: [Recipient]?

    init(_ selection: TokenSelection, recipients: [Recipient]? = nil) {
        self.selection = selection
        self.recipients = recipients
        self.selection.recipients = recipients.map(NamedRecipients.init)
    }

    /// Whether a walk through the selection meets the row, before any exclusion.
    func looks(at row: TokenRow, of key: RegistryKey) -> Bool {
        guard key.app == selection.app, recipients?.contains(key.recipient) ?? true else { return false }
        switch (selection.tokens, key.entry) {
        case (.starts(let startedType), .start(let type)):
            return type?.isExactlyEqual(to: startedType) ?? true
        case (.updates(let group), .update): return row.group.isExactlyEqual(to: group)
        case (.possibleMembers(let group), .update):
            return row.group == nil || row.group.isExactlyEqual(to: group)
        case (.activities(let activities), .update(let activity)):
            return activities.contains { $0.isExactlyEqual(to: activity) }
        default: return false
        }
    }
}

/// The result of a walk through a selection.
struct Answer: Equatable {
    var rows: Set<FoundRow> = []
    var exclusions: [ExclusionReason: Int] = [:]
}

extension RegistryKey {
    var isUpdate: Bool { if case .update = entry { true } else { false } }
}

/// Makes random keys, rows and questions. There are few names, so that rows collide. The names are short, long, UUIDs
/// in both cases, and almost UUIDs.
struct RowMaker {
    var random: SeededGenerator
    static let installations = [
        "a", "7F3C9A52-1D0E-4B6F-9C58-2E61D7A4B093", "7f3c9a52-1d0e-4b6f-9c58-2e61d7a4b093",
        "7F3C9A52-1D0E-4B6F-9C58-2e61d7a4b093", String(repeating: "long", count: 50), "ü/ö%", "b", "c",
        "\u{E9}", "e\u{301}",
    ]
    static let users = [
        "ada", "7F3C9A52-1D0E-4B6F-9C58-2E61D7A4B093", String(repeating: "u", count: 81), "b", "\u{301}",
    ]
    static let activities = ["x", "E2B7C0A4-5D19-4F83-A6C2-91B03D8E7F46", String(repeating: "é", count: 100)]
    static let groups: [String?] = [
        nil, "match", String(repeating: "g", count: 200), "E2B7C0A4-5D19-4F83-A6C2-91B03D8E7F46",
    ]
    static let types: [String?] = ["Match", nil, "Order", "\u{E9}", "e\u{301}"]
    static let apps = ["one", "two"]

    mutating func pick<T>(_ list: [T]) -> T { list[random.number(below: list.count)] }

    mutating func key() -> RegistryKey {
        let installation = pick(Self.installations)
        let recipient: Recipient =
            random.number(below: 2) == 0 ? .installation(installation) : .user(pick(Self.users))
        let entry: RegistryKey.Entry =
            random.number(below: 2) == 0
            ? .start(type: pick(Self.types)) : .update(activity: pick(Self.activities))
        return RegistryKey(
            app: pick(Self.apps), recipient: recipient, installation: installation, entry: entry)
    }

    mutating func row() -> TokenRow {
        let number = random.number(below: 12)
        var row = TokenRow(
            environment: random.number(below: 5) == 0 ? .sandbox : .production,
            token: pick([hash(number), "s1.AAECAwQFBgcICQ", "s01.AA", "not-hex", "ABCD"]),
            tokenHash: hash(number),
            attributesType: pick(Self.types), registeredAt: start + Int64(random.number(below: 4)))
        row.unregisteredTypes = pick([nil, nil, ["Match"], ["\u{E9}", "Order"]])
        row.group = pick(Self.groups)
        row.expiresAt = pick([nil, start, start + 1, start + 10])
        row.os = pick([nil, "17.1", "iOS 17.2", "18.0.1 (22A)", "none"])
        row.frequentPushesEnabled = pick([nil, true, false])
        row.activitiesEnabled = pick([nil, true, true, true, false])
        row.channel = pick([nil, nil, "channel=="])
        if random.number(below: 4) == 0 {
            row.movedAt = start + Int64(random.number(below: 4))
            if random.number(below: 2) == 0 {
                row.movedTo = .user(pick(Self.users))
                if random.number(below: 2) == 0 { row.arrivedAt = start + Int64(random.number(below: 4)) }
            }
        }
        row.isUnproven = random.number(below: 3) == 0
        if random.number(below: 8) == 0 {
            (row.token, row.tokenHash) = ("", "")
            row.dismissedAt = start + Int64(random.number(below: 3))
        }
        return row
    }

    mutating func question() -> Question {
        let tokens: TokenSelection.Tokens =
            switch random.number(below: 4) {
            case 0: .starts(type: pick(["Match", "Order", "\u{E9}", "Unknown"]))
            case 1: .updates(group: pick(Self.groups))
            case 2: .possibleMembers(group: pick(Self.groups.compactMap { $0 }))
            default: .activities(Array(Self.activities.shuffled(using: &random).prefix(2)) + ["none"])
            }
        var selection = TokenSelection(
            app: pick(Self.apps + ["three"]), tokens: tokens,
            environments: pick([[.production], [.sandbox], [.production, .sandbox]]),
            now: start + Int64(random.number(below: 12)))
        if random.number(below: 2) == 0 {
            selection.dismissals = .init(
                of: pick(Self.groups.compactMap { $0 }), since: start + Int64(random.number(below: 3)))
        }
        if random.number(below: 2) == 0 { selection.startAcceptedAt = start + Int64(random.number(below: 4)) }
        if random.number(below: 4) == 0 { selection.osMin = nil }
        guard random.number(below: 3) == 0 else { return Question(selection) }
        let users = Self.users.shuffled(using: &random).prefix(random.number(below: 4)).map {
            Recipient.user($0)
        }
        return Question(
            selection, recipients: users + [.installation(pick(Self.installations)), .user("nobody")])
    }
}
