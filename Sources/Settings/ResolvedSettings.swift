/// The settings of one process, complete and checked: a default, overruled by the file, overruled by
/// the environment, overruled by a flag.
package struct ResolvedSettings: Sendable {
    package struct Entry: Sendable {
        package let declaration: Declaration
        package let text: String
        package let origin: Origin

        /// The value as it may be shown to anybody.
        package var shown: String { declaration.isSecret && !text.isEmpty ? "<set>" : text }
    }

    private let entries: [String: Entry]
    private let order: [String]

    /// Every value with its origin, in the order of the schema.
    package var all: [Entry] { order.compactMap { entries[$0] } }

    /// The value of a setting of the schema that these were resolved from.
    subscript<Value>(_ setting: Setting<Value>) -> Value {
        let key = setting.declaration.key
        guard let entry = entries[key], let value = Value(settingText: entry.text) else {
            preconditionFailure("\(key) is not in the schema")
        }
        return value
    }

    package func origin(_ key: String) -> Origin? { entries[key]?.origin }

    /// - Parameters:
    ///   - flags: by key, as `Arguments` found them.
    ///   - environment: the whole environment; what does not begin with `FLOTILLA_` is not ours.
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

/// A setting given on the command line, and how it was written there.
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

/// The value of the environment that names the settings file; a flag `--config` overrules it.
package let settingsFileVariable = "FLOTILLA_CONFIG"

/// The layers as they are laid over one another, and what is wrong with them.
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
                "\(key) is a secret and flags can be read by anybody on the machine: set it in a file")
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

/// Kubernetes gives every container variables for each service of its namespace: for one that is called
/// `flotilla-gateway`, `FLOTILLA_GATEWAY_SERVICE_HOST`, `FLOTILLA_GATEWAY_PORT_8080_TCP_ADDR` and so on.
/// They are nobody's typing mistake.
private func isServiceLink(_ name: String, _ text: String) -> Bool {
    if name.hasSuffix("_SERVICE_HOST") || name.hasSuffix("_SERVICE_PORT") || name.contains("_SERVICE_PORT_") {
        return true
    }
    if name.hasSuffix("_PORT") { return text.hasPrefix("tcp://") || text.hasPrefix("udp://") }
    return name.contains(/_PORT_[0-9]+_(TCP|UDP)(_(ADDR|PORT|PROTO))?$/)
}
