/// One setting of a group. The flag, the environment name, the help, the operator's table and every check
/// come from its declaration.
struct Setting<Value: SettingValue>: Sendable {
    let declaration: Declaration

    /// - Parameters:
    ///   - key: lower case, parts separated by dots, words by dashes: `kafka.ca-file`.
    ///   - sentence: what it does, one sentence, for help and docs.
    ///   - secret: never shown, and not taken from a flag, which every user of the machine can read.
    ///   - check: the problem with a value that parsed, or nil; it completes "broker.x …".
    init(
        _ key: String, default defaultValue: Value, _ sentence: String, secret: Bool = false,
        check: (@Sendable (Value) -> String?)? = nil
    ) {
        declaration = Declaration(
            key: key, kind: Value.kind, defaultText: defaultValue.settingText, sentence: sentence,
            isSecret: secret, isSwitch: Value.self == Bool.self
        ) { text in
            guard let value = Value(settingText: text) else { return "must be \(Value.kind)" }
            return check?(value)
        }
    }
}

extension Setting where Value: Comparable {
    /// A setting with a lowest and a highest value.
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

/// What a setting is, without its type: enough to read, check, show and document it.
package struct Declaration: Sendable {
    package let key: String
    package let kind: String
    package let defaultText: String
    package let sentence: String
    package let isSecret: Bool
    /// Given as a flag, it needs no value.
    package let isSwitch: Bool
    /// What is wrong with a text, or nil.
    let problem: @Sendable (String) -> String?

    /// `broker.flush-every` is `FLOTILLA_BROKER_FLUSH_EVERY` in the environment.
    package var environmentName: String {
        "FLOTILLA_" + key.uppercased().map { $0 == "." || $0 == "-" ? "_" : String($0) }.joined()
    }

    /// `broker.flush-every` is `--broker-flush-every` on the command line.
    package var flag: String { "--" + key.map { $0 == "." ? "-" : String($0) }.joined() }

    /// The flag inside the command that the setting belongs to: `--flush-every` in `flotilla broker`.
    package func shortFlag(in namespace: String) -> String? {
        key.hasPrefix(namespace + ".") ? "--" + Declaration.dashed(key.dropFirst(namespace.count + 1)) : nil
    }

    private static func dashed(_ text: Substring) -> String {
        text.map { $0 == "." ? "-" : String($0) }.joined()
    }
}
