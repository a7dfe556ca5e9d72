/// The content of a table as one number: the sum of its rows' checksums in the lower half, and the count of
/// rows in the upper half. A changed, missing, duplicate or outdated row changes the number. Addition needs
/// no order, so a write updates the number by the changed rows.
struct TableSum: Hashable {
    private(set) var number: UInt64 = 0

    init() {}
    init(number: UInt64) { self.number = number }

    mutating func add(rowChecksum row: UInt32) { number &+= 1 << 32 | UInt64(row) }
    mutating func remove(rowChecksum row: UInt32) { number &-= 1 << 32 | UInt64(row) }
}

/// The sums of all tables of a file, by table name: one row beside the applied offsets, written in the
/// transaction that changes the rows. With them the opening verifies that it found exactly the committed rows
/// of all tables. The tree alone cannot show it: it contains only a row count, and an outdated page has valid
/// rows too.
enum TableSums {
    /// A key that no partition has, because no topic name is empty.
    static let key: [UInt8] = [0]

    static func isKey(_ key: Span<UInt8>) -> Bool { key.count == 1 && key[0] == 0 }

    static func name(from bytes: Span<UInt8>) -> String {
        unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the row for the key, with its checksum.
    static func makeRow(names: [String], sums: [TableSum]) -> [UInt8] {
        let size = names.reduce(0) { $0 + 1 + $1.utf8.count + 8 }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        for (name, sum) in zip(names, sums) {
            bytes.append(UInt8(name.utf8.count))
            bytes.append(contentsOf: name.utf8)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: sum.number >> UInt64(shift)))
            }
        }
        var row: [UInt8] = []
        row.reserveCapacity(RowChecksum.byteCount + size)
        RowChecksum.write(key: key.span, value: bytes.span, to: &row)
        return row
    }

    /// Returns nil for anything except the value that `row` writes.
    static func parse(_ bytes: Span<UInt8>) -> [(name: String, sum: TableSum)]? {
        var sums: [(name: String, sum: TableSum)] = []
        sums.reserveCapacity(8)
        var rest = bytes
        while rest.count > 0 {
            let nameBytes = Int(rest[0])
            guard rest.count >= 1 + nameBytes + 8 else { return nil }
            let name = name(from: rest.extracting(1..<1 + nameBytes))
            let number = Int64(bigEndianBytes: rest.extracting(1 + nameBytes..<1 + nameBytes + 8))
            sums.append((name, TableSum(number: UInt64(bitPattern: number))))
            rest = rest.extracting(1 + nameBytes + 8..<rest.count)
        }
        return sums
    }
}
