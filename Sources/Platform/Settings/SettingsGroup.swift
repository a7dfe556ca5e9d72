/// The settings that fill one value of `Values`, a struct with one property for each setting.
///
/// Each setting is declared once: its name, the property that it sets, its bounds and a sentence. Its default
/// is the property's initial value. So a value made in code equals a value from unchanged settings.
package struct SettingsGroup<Values: Sendable>: Sendable {
    /// All declarations in their order, for the help, the operator's table and all checks.
    package private(set) var declarations: [SettingDeclaration] = []
    private let defaults: Values
    /// One for each declaration: sets its property to the resolved value.
    private var assignments: [@Sendable (inout Values, ResolvedSettings) -> Void] = []

    /// - Parameters:
    ///   - prefix: the first part of each key, `gateway` for `gateway.listen`. Without it, names are whole
    ///     keys.
    ///   - declare: declares each setting through the declarer.
    package init(
        prefix: String? = nil, defaults: Values, declare: (inout SettingsDeclarer<Values>) -> Void
    ) {
        self.defaults = defaults
        var declarer = SettingsDeclarer(prefix: prefix, defaults: defaults)
        declare(&declarer)
        declarations = declarer.declarations
        assignments = declarer.assignments
    }

    func values(from resolved: ResolvedSettings) -> Values {
        var values = defaults
        for assign in assignments { assign(&values, resolved) }
        return values
    }
}

/// A declarer of a group's settings. A group passes it to the closure that declares them, as `declare`. Each
/// call declares one: `declare("threads", sets: \.threads, in: 1...64, "Threads that serve requests")`.
package struct SettingsDeclarer<Values: Sendable> {
    fileprivate let prefix: String?
    fileprivate let defaults: Values
    fileprivate private(set) var declarations: [SettingDeclaration] = []
    fileprivate private(set) var assignments: [@Sendable (inout Values, ResolvedSettings) -> Void] = []

    fileprivate init(prefix: String?, defaults: Values) {
        self.prefix = prefix
        self.defaults = defaults
    }

    /// Declares a setting.
    ///
    /// - Parameters:
    ///   - sentence: the purpose in one sentence, for help and documentation.
    ///   - secret: whether the value is never shown and not accepted from a flag, which every user of the
    ///     machine can read.
    ///   - check: returns the problem with a parsed value, worded to follow the key, or nil.
    package mutating func callAsFunction<Value: SettingValue>(
        _ name: String, sets target: any (WritableKeyPath<Values, Value> & Sendable), _ sentence: String,
        secret: Bool = false, check: (@Sendable (Value) -> String?)? = nil
    ) {
        add(
            Setting(
                fullKey(for: name), default: defaults[keyPath: target], sentence, secret: secret, check: check
            )
        ) { $0[keyPath: target] = $1 }
    }

    /// Declares a setting with a lowest and a highest value.
    package mutating func callAsFunction<Value: SettingValue & Comparable>(
        _ name: String, sets target: any (WritableKeyPath<Values, Value> & Sendable),
        in range: ClosedRange<Value>,
        _ sentence: String
    ) {
        add(Setting(fullKey(for: name), default: defaults[keyPath: target], in: range, sentence)) {
            $0[keyPath: target] = $1
        }
    }

    /// Declares a number that is written with a unit: milliseconds as `5s`, bytes as `4MiB`.
    package mutating func callAsFunction<Unit: CountWithUnit>(
        _ name: String, sets target: any (WritableKeyPath<Values, Int> & Sendable), as unit: Unit.Type,
        in range: ClosedRange<Int>, _ sentence: String
    ) {
        let range = Unit(range.lowerBound)...Unit(range.upperBound)
        add(Setting(fullKey(for: name), default: Unit(defaults[keyPath: target]), in: range, sentence)) {
            $0[keyPath: target] = $1.count
        }
    }

    private func fullKey(for name: String) -> String { prefix.map { "\($0).\(name)" } ?? name }

    private mutating func add<Value>(
        _ setting: Setting<Value>, assign: @escaping @Sendable (inout Values, Value) -> Void
    ) {
        declarations.append(setting.declaration)
        assignments.append { values, resolved in assign(&values, resolved[setting]) }
    }
}

/// A type whose properties the operator can set. It declares them once.
package protocol OperatorSettings: Sendable {
    static var declared: SettingsGroup<Self> { get }
}

extension ResolvedSettings {
    /// The settings of one group, with the resolved values.
    package subscript<Values: OperatorSettings>(_ type: Values.Type) -> Values {
        Values.declared.values(from: self)
    }
}
