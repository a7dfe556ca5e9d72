internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Telemetry

/// One row of the registry in the output: a token of an installation, or an installation's profile with its tags.
struct RegistryRowOutput {
    static let headers = [
        "installation", "entry", "token", "type", "group", "reported", "expires", "moved to",
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
        JSONLine.text { json in
            json.field("installation", key.installation)
            json.field("entry", key.entry.text)
            switch row {
            case .token(let token):
                if let dismissedAt = token.dismissedAt {
                    json.field("dismissedAt", dismissedAt)
                } else {
                    json.field("token", token.tokenHash.map(PushToken.shortForm))
                }
                json.field("attributesType", token.attributesType)
                json.field("groupId", token.group)
                json.field("registeredAt", token.registeredAt)
                json.field("expiresAt", token.expiresAt)
                json.field("movedTo", token.movedTo?.text)
            case .profile(let profile):
                json.field("tags", profile.tags ?? [])
                json.field("updatedAt", profile.updatedAt)
            }
        }
    }
}
