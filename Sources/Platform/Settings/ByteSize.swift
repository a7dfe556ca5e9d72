/// A size in bytes, as a setting: `512B`, `64KiB`, `4MiB`, `10GiB`.
package struct ByteSize: CountWithUnit, Hashable {
    /// The number of bytes.
    package let count: Int

    package init(_ count: Int) { self.count = count }

    package static var typeDescription: String { "a size with its unit, such as 512B, 64KiB, 4MiB or 10GiB" }

    package static let units: [(suffix: String, count: Int)] = [
        ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]
}
