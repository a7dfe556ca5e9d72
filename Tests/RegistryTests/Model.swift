import JSON
import LiveActivity
import Simulation

@testable import Registry

/// The lane as a dictionary: the newest row of each key, and the rules said again in a slow way.
struct Model {
    var tokens: [RegistryKey: TokenRow] = [:]
    var profiles: [RegistryKey: ProfileRow] = [:]

    func isShadowed(_ key: RegistryKey) -> Bool {
        guard let row = tokens[key] else { return false }
        return tokens.contains { other, rival in
            guard other != key, other.app == key.app, rival.tokenHash == row.tokenHash,
                rival.environment == row.environment, (rival.movedTo == nil) == (row.movedTo == nil)
            else { return false }
            if rival.registeredAt != row.registeredAt { return rival.registeredAt > row.registeredAt }
            return key.bytes.lexicographicallyPrecedes(other.bytes)
        }
    }

    func rows(_ selection: Selection) -> Set<Found> {
        var found: Set<Found> = []
        for (key, row) in tokens where chooses(selection, key, row) {
            // An installation's own token goes before the one that serves every type.
            if case .starts(let type) = selection.tokens, key.entry == .start(type: nil) {
                var own = key
                own.entry = .start(type: type)
                if let row = tokens[own], chooses(selection, own, row) { continue }
            }
            found.insert(Found(key, row))
        }
        return found
    }

    private func chooses(_ selection: Selection, _ key: RegistryKey, _ row: TokenRow) -> Bool {
        guard key.app == selection.app, selection.environments.contains(row.environment),
            row.activitiesEnabled != false, row.dismissedAt == nil, (row.expiresAt ?? .max) > selection.now,
            !isShadowed(key),
            selection.recipient == nil || selection.recipient == key.recipient
        else { return false }
        if let osMin = selection.osMin, let os = row.os.flatMap({ OSVersion($0) }), os < osMin {
            return false
        }
        switch (selection.tokens, key.entry) {
        case (.starts(let wanted), .start(let type)):
            if let type, !type.isExactly(wanted) { return false }
            if row.movedTo != nil {
                guard let accepted = selection.startAcceptedAt, let movedAt = row.movedAt else {
                    return false
                }
                return accepted < movedAt
            }
            return true
        case (.updates(let group), .update): return row.group.isExactly(group) && row.movedTo == nil
        case (.activities(let wanted), .update(let activity)):
            return wanted.contains(activity) && row.movedTo == nil
        default: return false
        }
    }
}

/// Few names, so that rows meet: short ones, UUIDs in both cases, names that are nearly UUIDs, long ones.
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

    mutating func pick<T>(_ list: [T]) -> T { list[random.below(list.count)] }

    mutating func key() -> RegistryKey {
        let installation = pick(Self.installations)
        let recipient: Recipient =
            random.below(2) == 0 ? .installation(installation) : .user(pick(Self.users))
        let entry: RegistryKey.Entry =
            random.below(2) == 0 ? .start(type: pick(Self.types)) : .update(activity: pick(Self.activities))
        return RegistryKey(
            app: pick(Self.apps), recipient: recipient, installation: installation, entry: entry)
    }

    mutating func row() -> TokenRow {
        let number = random.below(12)
        var row = TokenRow(
            environment: random.below(5) == 0 ? .sandbox : .production,
            token: pick([hash(number), "s1.AAECAwQFBgcICQ", "s01.AA", "not-hex", "ABCD"]),
            tokenHash: hash(number),
            attributesType: pick(Self.types), registeredAt: start + Int64(random.below(4)))
        row.group = pick(Self.groups)
        row.expiresAt = pick([nil, start, start + 1, start + 10])
        row.os = pick([nil, "17.1", "iOS 17.2", "18.0.1 (22A)", "none"])
        row.frequentPushesEnabled = pick([nil, true, false])
        row.activitiesEnabled = pick([nil, true, true, true, false])
        row.channel = pick([nil, nil, "channel=="])
        if random.below(4) == 0 {
            row.movedAt = start + Int64(random.below(4))
            if random.below(2) == 0 { row.movedTo = .user(pick(Self.users)) }
        }
        if random.below(8) == 0 {
            (row.token, row.tokenHash) = ("", "")
            row.dismissedAt = start
        }
        return row
    }

    mutating func selection() -> Selection {
        let tokens: Selection.Tokens =
            switch random.below(3) {
            case 0: .starts(type: pick(["Match", "Order", "\u{E9}", "Unknown"]))
            case 1: .updates(group: pick(Self.groups))
            default: .activities(Array(Self.activities.shuffled(using: &random).prefix(2)) + ["none"])
            }
        var selection = Selection(
            app: pick(Self.apps + ["three"]), tokens,
            environments: pick([[.production], [.sandbox], [.production, .sandbox]]),
            now: start + Int64(random.below(12)))
        if random.below(3) == 0 { selection.recipient = .user(pick(Self.users)) }
        if random.below(2) == 0 { selection.startAcceptedAt = start + Int64(random.below(4)) }
        if random.below(4) == 0 { selection.osMin = nil }
        return selection
    }
}
