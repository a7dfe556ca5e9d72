internal import Settings

/// The text that `--help` prints.
enum Help {
    static var overview: String {
        let width = Command.all.map(\.name.count).max() ?? 0
        let lines = Command.all.map { command in
            "  " + command.name.padded(to: width) + "  " + command.summary
        }
        return """
            Flotilla starts, updates and ends iOS Live Activities on millions of phones, through Apache Kafka.

            usage: flotilla COMMAND [options]

            \(lines.joined(separator: "\n"))

            `flotilla COMMAND --help` shows a command's options and an example.
            """
    }

    static func text(of command: Command) -> String {
        var text = "\(command.summary)\n\nusage: flotilla \(command.name) \(command.usage)\n"
        for option in command.options {
            text += "\n  \(option.name)\(option.takesValue ? " VALUE" : "")\n      \(option.sentence)"
        }
        let declarations = AllSettings.schema.declarations.filter { declaration in
            command.settings.contains { declaration.key.hasPrefix($0) }
        }
        for declaration in declarations {
            let flag = command.namespace.flatMap(declaration.shortFlag(in:)) ?? declaration.flag
            let value = declaration.defaultText.isEmpty ? "" : ", default \(declaration.defaultText)"
            text += "\n  \(flag)\n      \(declaration.sentence): \(declaration.typeDescription)\(value)"
        }
        if !declarations.isEmpty { text += "\n  --config FILE\n      a JSON5 file with settings" }
        return text + "\n\nexample: \(command.example)"
    }
}

extension String {
    /// Returns the text padded with blanks to a width in characters.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
