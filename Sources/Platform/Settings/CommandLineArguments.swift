/// The arguments of a command line: flags that are settings, the command's own options, and the other words.
package struct CommandLineArguments: Sendable {
    package private(set) var flags: [CommandLineFlag] = []
    /// The command's own options that are not settings, such as `--yes` or `--json`, with their values.
    package private(set) var options: [String: String] = [:]
    package private(set) var positionals: [String] = []
    /// The file named by `--config`.
    package private(set) var settingsFile: String?

    /// - Parameters:
    ///   - namespace: the prefix of the command's own settings, which flags may omit: `--listen` for
    ///     `broker.listen`.
    ///   - options: the command's options that are not settings, and whether they take a value.
    package init(
        _ arguments: [String], schema: SettingsSchema, namespace: String? = nil,
        options known: [String: Bool] = [:]
    ) throws(SettingsError) {
        var settings: [String: SettingDeclaration] = [:]
        for declaration in schema.declarations {
            settings[declaration.flag] = declaration
            if let namespace, let short = declaration.shortFlag(in: namespace) {
                settings[short] = declaration
            }
        }
        var problems: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                positionals += rest
                break
            }
            guard argument.hasPrefix("--") else {
                positionals.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            var value = parts.count == 2 ? String(parts[1]) : nil
            let isSwitch = settings[name]?.isSwitch ?? !(known[name] ?? (name == "--config"))
            if value == nil, !isSwitch {
                value = rest.popFirst()
                if value == nil { problems.append("\(name) needs a value") }
            }
            if name == "--config" {
                settingsFile = value
            } else if let declaration = settings[name] {
                flags.append(CommandLineFlag(key: declaration.key, text: value ?? "true", writtenName: name))
            } else if known[name] != nil {
                options[name] = value ?? "true"
            } else {
                let names = Array(settings.keys) + Array(known.keys) + ["--config", "--help"]
                problems.append(schema.unknownNameMessage(for: name, kind: "flag", among: names))
            }
        }
        if !problems.isEmpty { throw SettingsError(problems: problems) }
    }
}
