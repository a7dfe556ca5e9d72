/// A duration, as a setting: `250ms`, `5s`, `2m`, `24h`, `7d`. A number without a unit is refused, because
/// its unit would be ambiguous.
package struct Milliseconds: CountWithUnit, Hashable {
    /// The number of milliseconds.
    package let count: Int

    package init(_ count: Int) { self.count = count }

    package static var typeDescription: String {
        "a duration with its unit, such as 250ms, 5s, 2m, 24h or 7d"
    }

    private static let units: [(suffix: String, factor: Int)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    package init?(settingText: String) {
        for unit in Self.units where settingText.hasSuffix(unit.suffix) {
            guard let amount = Int(settingText.dropLast(unit.suffix.count)), amount >= 0 else { continue }
            let (product, overflow) = amount.multipliedReportingOverflow(by: unit.factor)
            if overflow { return nil }
            self.init(product)
            return
        }
        return nil
    }

    /// The number in the largest unit that divides it.
    package var settingText: String {
        for unit in Self.units.reversed() where count > 0 && count % unit.factor == 0 {
            return "\(count / unit.factor)\(unit.suffix)"
        }
        return "\(count)ms"
    }

    package static func < (a: Milliseconds, b: Milliseconds) -> Bool { a.count < b.count }
}
