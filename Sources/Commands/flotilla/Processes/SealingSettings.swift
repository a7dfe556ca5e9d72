internal import Settings

/// The setting that names the file of the sealing keys.
struct SealingSettings: OperatorSettings {
    var keysFile: String?

    static let declared = SettingsGroup(prefix: "tokens", defaults: SealingSettings()) { declare in
        declare(
            "sealing-keys-file", sets: \.keysFile,
            "file of the keys that encrypt push tokens in topics and state files, the same for every process; without it tokens are not encrypted"
        )
    }
}
