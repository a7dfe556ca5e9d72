/// A type that a setting can have. It is read from text, because files, environment and flags contain text.
package protocol SettingValue: Sendable {
    /// The name of the type in help and errors: "a number", "a duration such as 250ms".
    static var typeDescription: String { get }
    init?(settingText: String)
    /// The text that parses to the same value.
    var settingText: String { get }
}

/// A whole number with a unit.
package protocol CountWithUnit: SettingValue, Comparable {
    /// The suffix of each unit, and the count that it stands for. The smallest unit, with the count 1, is first.
    static var units: [(suffix: String, count: Int)] { get }
    init(_ count: Int)
    var count: Int { get }
}

extension CountWithUnit {
    package init?(settingText: String) {
        for unit in Self.units where settingText.hasSuffix(unit.suffix) {
            // The suffix can be the end of another unit's suffix.
            guard let amount = Int(settingText.dropLast(unit.suffix.count)), amount >= 0 else { continue }
            let (product, overflow) = amount.multipliedReportingOverflow(by: unit.count)
            if overflow { return nil }
            self.init(product)
            return
        }
        return nil
    }

    /// The number in the largest unit that divides it.
    package var settingText: String {
        let unit = Self.units.last { count > 0 && count % $0.count == 0 } ?? Self.units[0]
        return "\(count / unit.count)\(unit.suffix)"
    }

    package static func < (a: Self, b: Self) -> Bool { a.count < b.count }
}

extension String: SettingValue {
    package static var typeDescription: String { "text" }
    package init?(settingText: String) { self = settingText }
    package var settingText: String { self }
}

extension Int: SettingValue {
    package static var typeDescription: String { "a whole number" }
    package init?(settingText: String) { self.init(settingText) }
    package var settingText: String { String(self) }
}

extension Bool: SettingValue {
    package static var typeDescription: String { "true or false" }
    package init?(settingText: String) { self.init(settingText) }
    package var settingText: String { self ? "true" : "false" }
}

/// An optional setting. Empty text means nil.
extension Optional: SettingValue where Wrapped: SettingValue {
    package static var typeDescription: String { Wrapped.typeDescription }
    package init?(settingText: String) {
        if settingText.isEmpty {
            self = Self.none
        } else if let value = Wrapped(settingText: settingText) {
            self = Self.some(value)
        } else {
            return nil
        }
    }
    package var settingText: String { self?.settingText ?? "" }
}

/// A list, written with commas: `a, b`. A space after a comma is ignored.
extension Array: SettingValue where Element: SettingValue {
    package static var typeDescription: String {
        "a list, separated by commas, of \(Element.typeDescription)"
    }
    package init?(settingText: String) {
        self = []
        for part in settingText.split(separator: ",", omittingEmptySubsequences: true) {
            let withoutSpace = part.drop { $0 == " " }
            guard let value = Element(settingText: String(withoutSpace)) else { return nil }
            append(value)
        }
    }
    package var settingText: String { map(\.settingText).joined(separator: ",") }
}

/// An enum, written as the raw value of its case.
extension SettingValue where Self: RawRepresentable & CaseIterable, RawValue == String {
    package static var typeDescription: String {
        "one of " + allCases.map(\.rawValue).joined(separator: ", ")
    }
    package init?(settingText: String) { self.init(rawValue: settingText) }
    package var settingText: String { rawValue }
}
