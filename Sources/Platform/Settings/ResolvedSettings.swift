/// The settings of one process, complete and checked. The file overrides the defaults, the environment
/// overrides the file, and a flag overrides the environment (`SettingsLayers`).
package struct ResolvedSettings: Sendable {
    package struct Entry: Sendable {
        package let declaration: SettingDeclaration
        package let text: String
        package let origin: SettingOrigin

        /// The value in its public form. A secret is not shown.
        package var publicText: String { declaration.isSecret && !text.isEmpty ? "<set>" : text }
    }

    private let entries: [String: Entry]
    /// The keys in the order of the schema.
    private let keys: [String]

    /// All values with their origins, in the order of the schema.
    package var allEntries: [Entry] { keys.compactMap { entries[$0] } }

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
    ///   - file: the path of the settings file, or nil for none.
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
        layers.add(flags)
        guard layers.problems.isEmpty else { throw SettingsError(problems: layers.problems) }
        entries = layers.entries
        keys = schema.declarations.map(\.key)
    }
}

/// The environment variable that names the settings file. The flag `--config` overrides it.
package let settingsFileVariable = "FLOTILLA_CONFIG"
