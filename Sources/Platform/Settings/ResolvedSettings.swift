/// The settings of one process, complete and checked. The file overrides the defaults, the environment
/// overrides the file, and a flag overrides the environment.
package struct ResolvedSettings: Sendable {
    package struct Entry: Sendable {
        package let declaration: SettingDeclaration
        package let text: String
        package let origin: SettingOrigin

        /// The value in its public form. A secret is not shown.
        package var publicText: String { declaration.isSecret && !text.isEmpty ? "<set>" : text }
    }

    private let entries: [String: Entry]
    private let order: [String]

    /// All values with their origins, in the order of the schema.
    package var all: [Entry] { order.compactMap { entries[$0] } }

    /// The value of a setting, which must be in the schema of these settings.
    subscript<Value>(_ setting: Setting<Value>) -> Value {
        let key = setting.declaration.key
        guard let entry = entries[key], let value = Value(settingText: entry.text) else {
            preconditionFailure("\(key) is not in the schema")
        }
        return value
    }

    package func origin(ofKey key: String) -> SettingOrigin? { entries[key]?.origin }

    /// - Parameters:
    ///   - flags: the flags that `CommandLineArguments` found.
    ///   - environment: the whole environment. Variables without the prefix `FLOTILLA_` are ignored.
    package init(
        schema: SettingsSchema, file: String?, environment: [String: String], flags: [CommandLineFlag]
    ) throws(SettingsError) {
        var layers = SettingsLayers(schema: schema)
        if let file {
            do { layers.add(try SettingsFile.read(at: file), from: file) } catch {
                layers.problems += error.problems
            }
        }
        layers.add(environment: environment)
        for flag in flags { layers.set(flag.key, to: flag.text, from: .flag(flag.writtenName)) }
        guard layers.problems.isEmpty else { throw SettingsError(problems: layers.problems) }
        entries = layers.entries
        order = schema.declarations.map(\.key)
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

/// The environment variable that names the settings file. The flag `--config` overrides it.
package let settingsFileVariable = "FLOTILLA_CONFIG"

/// The layers of settings, applied one after the other, and their problems.
private struct SettingsLayers {
    let schema: SettingsSchema
    var entries: [String: ResolvedSettings.Entry] = [:]
    var problems: [String] = []

    init(schema: SettingsSchema) {
        self.schema = schema
        for declaration in schema.declarations {
            entries[declaration.key] = ResolvedSettings.Entry(
                declaration: declaration, text: declaration.defaultText, origin: .builtIn)
        }
    }

    mutating func add(_ members: [(key: String, text: String)], from path: String) {
        for (key, text) in members {
            guard schema.declaration(forKey: key) != nil else {
                let known = schema.declarations.map(\.key)
                problems.append(
                    schema.unknownNameMessage(for: key, kind: "setting", among: known) + " (file \(path))")
                continue
            }
            set(key, to: text, from: .file(path))
        }
    }

    mutating func add(environment: [String: String]) {
        let names = Dictionary(uniqueKeysWithValues: schema.declarations.map { ($0.environmentName, $0.key) })
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) {
            guard name.hasPrefix("FLOTILLA_"), name != settingsFileVariable else { continue }
            guard let key = names[name] else {
                if isServiceLink(name: name, value: text) { continue }
                problems.append(
                    schema.unknownNameMessage(
                        for: name, kind: "environment variable", among: Array(names.keys)))
                continue
            }
            set(key, to: text, from: .environment(name))
        }
    }

    mutating func set(_ key: String, to text: String, from origin: SettingOrigin) {
        guard let declaration = schema.declaration(forKey: key) else {
            preconditionFailure("\(key) is not in the schema")
        }
        if declaration.isSecret, case .flag = origin {
            problems.append(
                "\(key) is a secret, and every user of the machine can read flags: set it in a file")
            return
        }
        if let problem = declaration.problem(text) {
            let value = declaration.isSecret ? "" : ", not “\(text)”"
            problems.append("\(key) \(problem)\(value) (\(origin))")
            return
        }
        entries[key] = ResolvedSettings.Entry(declaration: declaration, text: text, origin: origin)
    }
}

/// Whether the variable is one of those that Kubernetes sets for each service of a namespace. A service
/// called `flotilla-gateway` gives `FLOTILLA_GATEWAY_SERVICE_HOST`, `FLOTILLA_GATEWAY_PORT_8080_TCP_ADDR` and
/// so on. They must not be reported as unknown settings.
private func isServiceLink(name: String, value text: String) -> Bool {
    if name.hasSuffix("_SERVICE_HOST") || name.hasSuffix("_SERVICE_PORT") || name.contains("_SERVICE_PORT_") {
        return true
    }
    if name.hasSuffix("_PORT") { return text.hasPrefix("tcp://") || text.hasPrefix("udp://") }
    return name.contains(/_PORT_[0-9]+_(TCP|UDP)(_(ADDR|PORT|PROTO))?$/)
}
