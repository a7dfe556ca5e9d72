/// The arguments of a command line: flags that are settings, the command's own options, and the other words.
package struct Arguments: Sendable {
    package private(set) var flags: [Flag] = []
    /// The command's own options that are not settings, such as `--yes` or `--json`, with their values.
    package private(set) var options: [String: String] = [:]
    package private(set) var words: [String] = []
    /// The file named by `--config`.
    package private(set) var file: String?

    /// - Parameters:
    ///   - namespace: the prefix of the command's own settings, which flags may omit: `--listen` for
    ///     `broker.listen`.
    ///   - options: the command's options that are not settings, and whether they take a value.
    package init(
        _ arguments: [String], schema: Schema, namespace: String? = nil, options known: [String: Bool] = [:]
    ) throws(SettingsError) {
        var settings: [String: Declaration] = [:]
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
                words += rest
                break
            }
            guard argument.hasPrefix("--") else {
                words.append(argument)
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
                file = value
            } else if let declaration = settings[name] {
                flags.append(Flag(key: declaration.key, text: value ?? "true", written: name))
            } else if known[name] != nil {
                options[name] = value ?? "true"
            } else {
                let names = Array(settings.keys) + Array(known.keys) + ["--config", "--help"]
                problems.append(schema.unknown(name, "flag", among: names))
            }
        }
        if !problems.isEmpty { throw SettingsError(problems: problems) }
    }
}
