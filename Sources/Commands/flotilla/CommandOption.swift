/// An option of a command that is not a setting, such as `--json`.
struct CommandOption: Sendable {
    /// The name with its dashes: `--json`.
    let name: String
    let takesValue: Bool
    /// The text of the help.
    let sentence: String

    /// Returns an option without a value, such as `--json`.
    static func flag(_ name: String, _ sentence: String) -> CommandOption {
        CommandOption(name: name, takesValue: false, sentence: sentence)
    }

    /// Returns an option with a value, such as `--app shop`.
    static func value(_ name: String, _ sentence: String) -> CommandOption {
        CommandOption(name: name, takesValue: true, sentence: sentence)
    }
}
