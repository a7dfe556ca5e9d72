/// One setting of a group, with the type of its value. Its declaration gives the flag, the environment name,
/// the help, the operator's table and all checks.
struct Setting<Value: SettingValue>: Sendable {
    let declaration: SettingDeclaration

    /// - Parameters:
    ///   - key: lower case, parts separated by dots, words by dashes: `kafka.ca-file`.
    ///   - sentence: the purpose in one sentence, for help and documentation.
    ///   - secret: whether the value is never shown and not accepted from a flag, which every user of the
    ///     machine can read.
    ///   - check: returns the problem with a parsed value, worded to follow the key, or nil.
    init(
        _ key: String, default defaultValue: Value, _ sentence: String, secret: Bool = false,
        check: (@Sendable (Value) -> String?)? = nil
    ) {
        declaration = SettingDeclaration(
            key: key, typeDescription: Value.typeDescription, defaultText: defaultValue.settingText,
            sentence: sentence,
            isSecret: secret, isSwitch: Value.self == Bool.self
        ) { text in
            guard let value = Value(settingText: text) else { return "must be \(Value.typeDescription)" }
            return check?(value)
        }
    }
}

extension Setting where Value: Comparable {
    /// Creates a setting with a lowest and a highest value.
    init(
        _ key: String, default defaultValue: Value, in range: ClosedRange<Value>, _ sentence: String
    ) {
        precondition(range.contains(defaultValue), "\(key): the default is outside the range")
        let bounds = "\(range.lowerBound.settingText) to \(range.upperBound.settingText)"
        self.init(key, default: defaultValue, "\(sentence) (\(bounds))") { value in
            range.contains(value) ? nil : "must be \(bounds)"
        }
    }
}

/// A setting without its type: enough to read, check, show and document it.
package struct SettingDeclaration: Sendable {
    package let key: String
    package let typeDescription: String
    package let defaultText: String
    package let sentence: String
    package let isSecret: Bool
    /// Whether its flag needs no value.
    package let isSwitch: Bool
    /// Returns the problem with a text, worded to follow the key, or nil: "must be true or false".
    let problem: @Sendable (String) -> String?

    /// The name in the environment: `FLOTILLA_BROKER_FLUSH_EVERY` for `broker.flush-every`.
    package var environmentName: String {
        "FLOTILLA_" + key.uppercased().map { $0 == "." || $0 == "-" ? "_" : String($0) }.joined()
    }

    /// The flag on the command line: `--broker-flush-every` for `broker.flush-every`.
    package var flag: String { "--" + Self.dashed(key[...]) }

    /// Returns the flag inside the command of the setting's namespace: `--flush-every` in `flotilla broker`.
    package func shortFlag(in namespace: String) -> String? {
        guard key.hasPrefix(namespace + ".") else { return nil }
        return "--" + Self.dashed(key.dropFirst(namespace.count + 1))
    }

    /// Returns the text with a dash for each dot.
    private static func dashed(_ text: Substring) -> String {
        text.map { $0 == "." ? "-" : String($0) }.joined()
    }
}
