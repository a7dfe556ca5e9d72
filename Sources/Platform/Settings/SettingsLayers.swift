/// The sources of the settings, applied one after the other over the defaults, and the problems found in
/// them. A later source overrides an earlier one.
struct SettingsLayers {
    private let schema: SettingsSchema
    private(set) var entries: [String: ResolvedSettings.Entry] = [:]
    var problems: [String] = []

    init(schema: SettingsSchema) {
        self.schema = schema
        for declaration in schema.declarations {
            entries[declaration.key] = ResolvedSettings.Entry(
                declaration: declaration, text: declaration.defaultText, origin: .builtIn)
        }
    }

    /// Applies the settings file.
    mutating func add(_ members: [SettingsFile.Member], from path: String) {
        var keys: Set<String> = []
        for (key, text) in members {
            guard keys.insert(key).inserted else {
                problems.append("\(key) is set twice, as a nested name and with dots (file \(path))")
                continue
            }
            guard schema.declaration(forKey: key) != nil else {
                let knownKeys = schema.declarations.map(\.key)
                problems.append(
                    schema.unknownNameMessage(for: key, kind: "setting", among: knownKeys) + " (file \(path))"
                )
                continue
            }
            set(key, to: text, from: .file(path))
        }
    }

    /// Applies the environment. Variables without the prefix `FLOTILLA_` are ignored.
    mutating func add(environment: [String: String]) {
        let keysByVariable = Dictionary(
            uniqueKeysWithValues: schema.declarations.map { ($0.environmentName, $0.key) })
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) {
            guard name.hasPrefix("FLOTILLA_"), name != settingsFileVariable else { continue }
            guard let key = keysByVariable[name] else {
                if isServiceLink(name: name, value: text) { continue }
                problems.append(
                    schema.unknownNameMessage(
                        for: name, kind: "environment variable", among: Array(keysByVariable.keys)))
                continue
            }
            set(key, to: text, from: .environment(name))
        }
    }

    /// Applies the flags of the command line.
    mutating func add(_ flags: [CommandLineFlag]) {
        for flag in flags { set(flag.key, to: flag.text, from: .flag(flag.writtenName)) }
    }

    private mutating func set(_ key: String, to text: String, from origin: SettingOrigin) {
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

/// True for a variable that Kubernetes sets for each service of a namespace. A service called
/// `flotilla-gateway` gives `FLOTILLA_GATEWAY_SERVICE_HOST`, `FLOTILLA_GATEWAY_PORT_8080_TCP_ADDR` and so on.
/// They must not be reported as unknown settings.
private func isServiceLink(name: String, value text: String) -> Bool {
    if name.hasSuffix("_SERVICE_HOST") || name.hasSuffix("_SERVICE_PORT") || name.contains("_SERVICE_PORT_") {
        return true
    }
    if name.hasSuffix("_PORT") { return text.hasPrefix("tcp://") || text.hasPrefix("udp://") }
    return name.contains(/_PORT_[0-9]+_(TCP|UDP)(_(ADDR|PORT|PROTO))?$/)
}
