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
        options ownOptions: [String: Bool] = [:]
    ) throws(SettingsError) {
        let declarations = Self.declarationsByFlag(in: schema, namespace: namespace)
        var problems: [String] = []
        var remaining = arguments[...]
        while let argument = remaining.popFirst() {
            if argument == "--" {
                positionals += remaining
                break
            }
            guard argument.hasPrefix("--") else {
                positionals.append(argument)
                continue
            }
            // `--name=value`, or `--name` with the value in the next argument.
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            var value = parts.count == 2 ? String(parts[1]) : nil
            // An unknown name takes no value, so that the next argument is checked by itself.
            let takesValue =
                declarations[name].map { !$0.isSwitch } ?? ownOptions[name] ?? (name == "--config")
            if value == nil, takesValue {
                value = remaining.popFirst()
                if value == nil { problems.append("\(name) needs a value") }
            }
            if name == "--config" {
                settingsFile = value
            } else if let declaration = declarations[name] {
                flags.append(CommandLineFlag(key: declaration.key, text: value ?? "true", writtenName: name))
            } else if ownOptions[name] != nil {
                options[name] = value ?? "true"
            } else {
                let knownNames =
                    Array(declarations.keys) + Array(ownOptions.keys) + ["--config", "--help"]
                problems.append(schema.unknownNameMessage(for: name, kind: "flag", among: knownNames))
            }
        }
        if !problems.isEmpty { throw SettingsError(problems: problems) }
    }

    /// Returns the declarations by their flags, and by their short flags within the namespace.
    private static func declarationsByFlag(
        in schema: SettingsSchema, namespace: String?
    ) -> [String: SettingDeclaration] {
        var declarations: [String: SettingDeclaration] = [:]
        for declaration in schema.declarations {
            declarations[declaration.flag] = declaration
            if let namespace, let shortFlag = declaration.shortFlag(in: namespace) {
                declarations[shortFlag] = declaration
            }
        }
        return declarations
    }
}

/// A setting from the command line, and the flag as the user wrote it.
package struct CommandLineFlag: Sendable {
    package let key: String
    package let text: String
    package let writtenName: String

    package init(key: String, text: String, writtenName: String) {
        self.key = key
        self.text = text
        self.writtenName = writtenName
    }
}
