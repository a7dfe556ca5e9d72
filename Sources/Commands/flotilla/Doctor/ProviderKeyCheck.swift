internal import APNs
internal import CatalogRecords
internal import Lifecycle
internal import Sender
internal import Settings
internal import Telemetry

/// A check that the directory `sender.keys` has the provider key (`.p8`) of every app.
struct ProviderKeyCheck {
    private let settings: SenderSettings

    init(settings: ResolvedSettings) { self.settings = settings[SenderSettings.self] }

    func findings(for apps: [App]) -> [Finding] {
        guard !settings.keysDirectory.isEmpty else {
            let text = "sender.keys is not set; a sender on this machine cannot push"
            return [.doubt(subject: "provider keys", text: text)]
        }
        let tokens = ProviderTokens(source: PushDestination(settings).keys, metrics: Metrics())
        var findings = tokens.reload().map { problem in
            Finding.wrong(subject: "provider keys", text: problem.description)
        }
        let availableKeys = Set(tokens.ages(at: .now()).keys)
        for app in apps {
            let key = ProviderKeyName(teamID: app.teamID, keyID: app.keyID)
            guard !availableKeys.contains(key) else { continue }
            let text =
                "\(settings.keysDirectory)/\(app.teamID)/AuthKey_\(app.keyID).p8 is missing or cannot be used"
            findings.append(.wrong(subject: "app \(app.id)", text: text))
        }
        if !findings.isEmpty { return findings }
        return [
            .good(
                subject: "provider keys",
                text: "\(availableKeys.count) in \(settings.keysDirectory), one for every app")
        ]
    }
}
