internal import Identifiers
internal import InstallationRecords
internal import Telemetry

/// One row of the registry in the output: a token of an installation, or an installation's profile with its tags.
struct RegistryRowOutput {
    static let headers = [
        "installation", "entry", "token", "type", "group", "heard of", "expires", "moved to",
    ]

    private let key: RegistryKey
    private let row: RegistryRow

    init(key: RegistryKey, row: RegistryRow) { (self.key, self.row) = (key, row) }

    var cells: [String] {
        func timeText(milliseconds: Int64?) -> String {
            milliseconds.map { WallTime(milliseconds: $0).rfc3339 } ?? "–"
        }
        let installation = key.installation ?? "–"
        switch row {
        case .token(let token):
            let isDismissed = token.dismissedAt != nil
            let tokenText = isDismissed ? "dismissed" : token.tokenHash.map(PushToken.shortForm)
            return [
                installation, key.entry.text, tokenText ?? "–", token.attributesType ?? "–",
                token.group ?? "–",
                timeText(milliseconds: token.registeredAt), timeText(milliseconds: token.expiresAt),
                token.movedTo?.text ?? "–",
            ]
        case .profile(let profile):
            let tags = (profile.tags ?? []).joined(separator: ",")
            return [
                installation, key.entry.text, "–", "tags \(tags)", "–",
                timeText(milliseconds: profile.updatedAt),
                "–", "–",
            ]
        }
    }

    /// The fields of the row under their names in the record. Missing values are left out. Times are
    /// milliseconds since 1970.
    var json: String {
        var line = JSONLine()
        if let installation = key.installation { line.field("installation", installation) }
        line.field("entry", key.entry.text)
        switch row {
        case .token(let token):
            if let dismissedAt = token.dismissedAt {
                line.field("dismissedAt", dismissedAt)
            } else if let hash = token.tokenHash {
                line.field("token", PushToken.shortForm(hash: hash))
            }
            if let type = token.attributesType { line.field("attributesType", type) }
            if let group = token.group { line.field("groupId", group) }
            line.field("registeredAt", token.registeredAt)
            if let expiresAt = token.expiresAt { line.field("expiresAt", expiresAt) }
            if let recipient = token.movedTo { line.field("movedTo", recipient.text) }
        case .profile(let profile):
            line.field("tags", profile.tags ?? [])
            line.field("updatedAt", profile.updatedAt)
        }
        return line.text
    }
}
