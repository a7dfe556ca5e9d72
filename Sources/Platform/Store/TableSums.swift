/// The content of a table as one number: the sum of its rows' checksums in the lower half, and the count of
/// rows in the upper half. A changed, missing, duplicate or outdated row changes the number. Addition needs
/// no order, so a write updates the number by the changed rows.
struct TableSum: Hashable {
    private(set) var number: UInt64 = 0

    private static let oneRow: UInt64 = 1 << 32

    init() {}
    init(number: UInt64) { self.number = number }

    mutating func add(rowChecksum checksum: UInt32) { number &+= Self.oneRow | UInt64(checksum) }
    mutating func remove(rowChecksum checksum: UInt32) { number &-= Self.oneRow | UInt64(checksum) }
}

/// The row with the sums of all tables of a file. It is in the table of the applied offsets and is written in
/// the transaction that changes the rows. With it the opening verifies that it found exactly the committed
/// rows of all tables. The tree alone cannot show it: it contains only a row count, and an outdated page has
/// valid rows too.
///
/// Each table has an entry: the length of its name in one byte, the name, and its sum in eight bytes,
/// big-endian.
enum TableSums {
    /// A key that no partition has, because no topic name is empty.
    static let key: [UInt8] = [0]

    private static let lengthBytes = 1
    private static let sumBytes = 8

    static func isKey(_ key: Span<UInt8>) -> Bool { key.count == 1 && key[0] == 0 }

    static func name(from bytes: Span<UInt8>) -> String {
        unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the stored bytes of the row: its checksum and its value.
    static func makeRow(names: [String], sums: [TableSum]) -> [UInt8] {
        let byteCount = names.reduce(0) { $0 + lengthBytes + $1.utf8.count + sumBytes }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        for (name, sum) in zip(names, sums) {
            bytes.append(UInt8(name.utf8.count))
            bytes.append(contentsOf: name.utf8)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: sum.number >> UInt64(shift)))
            }
        }
        var row: [UInt8] = []
        row.reserveCapacity(RowChecksum.byteCount + byteCount)
        RowChecksum.write(key: key.span, value: bytes.span, to: &row)
        return row
    }

    /// Reads the row's value. Returns nil for anything except a value of `makeRow`.
    static func parse(_ bytes: Span<UInt8>) -> [(name: String, sum: TableSum)]? {
        var sums: [(name: String, sum: TableSum)] = []
        sums.reserveCapacity(8)
        var remaining = bytes
        while remaining.count > 0 {
            let nameEnd = lengthBytes + Int(remaining[0])
            let entryEnd = nameEnd + sumBytes
            guard remaining.count >= entryEnd else { return nil }
            let name = name(from: remaining.extracting(lengthBytes..<nameEnd))
            let number = Int64(bigEndianBytes: remaining.extracting(nameEnd..<entryEnd))
            sums.append((name, TableSum(number: UInt64(bitPattern: number))))
            remaining = remaining.extracting(entryEnd..<remaining.count)
        }
        return sums
    }
}
