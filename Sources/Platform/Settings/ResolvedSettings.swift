/// The settings of one process, complete and checked. The file overrides the defaults, the environment
/// overrides the file, and a flag overrides the environment.
package struct ResolvedSettings: Sendable {
    package struct Entry: Sendable {
        package let declaration: Declaration
        package let text: String
        package let origin: Origin

        /// The value in its public form. A secret is not shown.
        package var shown: String { declaration.isSecret && !text.isEmpty ? "<set>" : text }
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

    package func origin(_ key: String) -> Origin? { entries[key]?.origin }

    /// - Parameters:
    ///   - flags: the flags that `Arguments` found.
    ///   - environment: the whole environment. Variables without the prefix `FLOTILLA_` are ignored.
    package init(
        _ schema: Schema, file: String?, environment: [String: String], flags: [Flag]
    ) throws(SettingsError) {
        var layers = Layers(schema: schema)
        if let file {
            do { layers.add(try SettingsFile.read(file), from: file) } catch {
                layers.problems += error.problems
            }
        }
        layers.add(environment)
        for flag in flags { layers.set(flag.key, flag.text, from: .flag(flag.written)) }
        guard layers.problems.isEmpty else { throw SettingsError(problems: layers.problems) }
        entries = layers.entries
        order = schema.declarations.map(\.key)
    }
}

/// A setting from the command line, and the flag as the user wrote it.
package struct Flag: Sendable {
    package let key: String
    package let text: String
    package let written: String

    package init(key: String, text: String, written: String) {
        self.key = key
        self.text = text
        self.written = written
    }
}

/// The environment variable that names the settings file. The flag `--config` overrides it.
package let settingsFileVariable = "FLOTILLA_CONFIG"

/// The layers of settings, applied one after the other, and their problems.
private struct Layers {
    let schema: Schema
    var entries: [String: ResolvedSettings.Entry] = [:]
    var problems: [String] = []

    init(schema: Schema) {
        self.schema = schema
        for declaration in schema.declarations {
            entries[declaration.key] = ResolvedSettings.Entry(
                declaration: declaration, text: declaration.defaultText, origin: .builtIn)
        }
    }

    mutating func add(_ members: [(key: String, text: String)], from path: String) {
        for (key, text) in members {
            guard schema.declaration(key) != nil else {
                let known = schema.declarations.map(\.key)
                problems.append(schema.unknown(key, "setting", among: known) + " (file \(path))")
                continue
            }
            set(key, text, from: .file(path))
        }
    }

    mutating func add(_ environment: [String: String]) {
        let names = Dictionary(uniqueKeysWithValues: schema.declarations.map { ($0.environmentName, $0.key) })
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) {
            guard name.hasPrefix("FLOTILLA_"), name != settingsFileVariable else { continue }
            guard let key = names[name] else {
                if isServiceLink(name, text) { continue }
                problems.append(schema.unknown(name, "environment variable", among: Array(names.keys)))
                continue
            }
            set(key, text, from: .environment(name))
        }
    }

    mutating func set(_ key: String, _ text: String, from origin: Origin) {
        guard let declaration = schema.declaration(key) else {
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
private func isServiceLink(_ name: String, _ text: String) -> Bool {
    if name.hasSuffix("_SERVICE_HOST") || name.hasSuffix("_SERVICE_PORT") || name.contains("_SERVICE_PORT_") {
        return true
    }
    if name.hasSuffix("_PORT") { return text.hasPrefix("tcp://") || text.hasPrefix("udp://") }
    return name.contains(/_PORT_[0-9]+_(TCP|UDP)(_(ADDR|PORT|PROTO))?$/)
}
