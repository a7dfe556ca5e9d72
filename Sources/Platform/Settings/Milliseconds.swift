/// A duration, as a setting: `250ms`, `5s`, `2m`, `24h`, `7d`. A number without a unit is refused, because
/// its unit would be ambiguous.
package struct Milliseconds: CountWithUnit, Hashable {
    /// The number of milliseconds.
    package let count: Int

    package init(_ count: Int) { self.count = count }

    package static var typeDescription: String {
        "a duration with its unit, such as 250ms, 5s, 2m, 24h or 7d"
    }

    package static let units: [(suffix: String, count: Int)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
}
