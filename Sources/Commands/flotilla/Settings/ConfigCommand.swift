internal import Lifecycle
internal import Settings

extension Command {
    /// `flotilla config`: shows the settings that a process would use, and the source of each value.
    static let config = Command(
        name: "config",
        summary: "Shows every setting with its value and its source, or the operator's table.",
        usage: "--show | --markdown", example: "flotilla config --show --config /etc/flotilla.json5",
        options: [
            .flag("--show", "prints each setting, its value (secrets as <set>) and its source"),
            .flag("--markdown", "prints the table of settings for the operator's book"),
        ]
    ) { invocation in
        try invocation.requireNoPositionals()
        if invocation.hasOption("--markdown") {
            print(AllSettings.schema.markdown, terminator: "")
        } else if invocation.hasOption("--show") {
            let rows = invocation.settings.allEntries.map {
                ($0.declaration.key, $0.publicText, "\($0.origin)")
            }
            let keyWidth = rows.map(\.0.count).max() ?? 0
            let valueWidth = rows.map(\.1.count).max() ?? 0
            for (key, value, origin) in rows {
                print("\(key.padded(to: keyWidth))  \(value.padded(to: valueWidth))  \(origin)")
            }
        } else {
            throw CommandError(status: .usage, "use --show or --markdown")
        }
    }
}
