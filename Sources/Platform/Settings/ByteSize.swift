/// A size in bytes, as a setting: `512B`, `64KiB`, `4MiB`, `10GiB`.
package struct ByteSize: CountWithUnit, Hashable {
    /// The number of bytes.
    package let count: Int

    package init(_ count: Int) { self.count = count }

    package static var typeDescription: String { "a size with its unit, such as 512B, 64KiB, 4MiB or 10GiB" }

    /// A unit is `1 << shift` bytes. `B` is last, because the other suffixes end with it too.
    private static let units: [(suffix: String, shift: Int)] = [
        ("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0),
    ]

    package init?(settingText: String) {
        for unit in Self.units where settingText.hasSuffix(unit.suffix) {
            guard let amount = Int(settingText.dropLast(unit.suffix.count)), amount >= 0 else { continue }
            let (product, overflow) = amount.multipliedReportingOverflow(by: 1 << unit.shift)
            if overflow { return nil }
            self.init(product)
            return
        }
        return nil
    }

    /// The number in the largest unit that divides it.
    package var settingText: String {
        for unit in Self.units.sorted(by: { $0.shift > $1.shift })
        where count > 0 && count % (1 << unit.shift) == 0 {
            return "\(count >> unit.shift)\(unit.suffix)"
        }
        return "\(count)B"
    }

    package static func < (a: ByteSize, b: ByteSize) -> Bool { a.count < b.count }
}
