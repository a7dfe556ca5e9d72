/// Rows to write or remove, adjacent in one buffer. Filling needs no allocation per row. Sorting is optional.
///
/// `WriteTransaction.apply` writes a batch whose rows have checksums. It does not change the batch, so that a
/// transaction can run again.
package struct RowBatch: ~Copyable {
    private var bytes: [UInt8] = []
    private var entries: [BatchedRow] = []

    package init() {}

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    /// The size of all keys and values.
    package var byteCount: Int { bytes.count }

    /// Adds a row as it is, for a batch that is not applied to a table.
    package mutating func put(_ key: Span<UInt8>, value: Span<UInt8>) {
        entries.append(BatchedRow(start: bytes.count, key: key, valueBytes: value.count))
        append(key)
        append(value)
    }

    /// Adds a row with the checksum that `ReadSnapshot.value` requires before the value.
    package mutating func putWithChecksum(_ key: Span<UInt8>, value: Span<UInt8>) {
        entries.append(
            BatchedRow(start: bytes.count, key: key, valueBytes: RowChecksum.byteCount + value.count))
        append(key)
        RowChecksum.append(key: key, value: value, to: &bytes)
    }

    /// Adds the removal of a row.
    package mutating func remove(_ key: Span<UInt8>) {
        entries.append(BatchedRow(start: bytes.count, key: key, valueBytes: BatchedRow.removal))
        append(key)
    }

    /// Removes the rows and keeps the memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }

    /// Sorts by key. Changes of one key keep their order, so that the last one wins.
    package mutating func sort() {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe entries.withUnsafeMutableBufferPointer { unsafe RowSort.sort($0, keysIn: bytes) }
        }
    }

    /// Returns the key of a row.
    @_lifetime(borrow self)
    package func key(at index: Int) -> Span<UInt8> {
        let entry = entries[index]
        return bytes.span.extracting(entry.start..<entry.start + entry.keyBytes)
    }

    /// Returns the value of a row, with its checksum if it has one, or nil for a removal.
    @_lifetime(borrow self)
    package func value(at index: Int) -> Span<UInt8>? {
        let entry = entries[index]
        guard entry.valueBytes >= 0 else { return nil }
        let start = entry.start + entry.keyBytes
        return bytes.span.extracting(start..<start + entry.valueBytes)
    }

    /// Returns the offset of a row's key in the buffer. It is behind all rows that were added earlier.
    package func offset(at index: Int) -> Int { entries[index].start }

    /// Whether no later change in a sorted batch has the same key.
    package func isLastForKey(at index: Int) -> Bool {
        index + 1 == count || key(at: index).compare(to: key(at: index + 1)) != 0
    }

    private mutating func append(_ span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    }
}

/// The position of a row in its batch.
struct BatchedRow {
    /// The value size of a row to remove.
    static let removal = -1

    /// Eight bytes of the key, as a number with the same order: the first ones, or later ones while `RowSort`
    /// sorts rows whose earlier bytes are equal.
    var keyPrefix: UInt64
    let start: Int
    private let keyCount: UInt32
    /// `removal` for a row to remove.
    private let valueCount: Int32

    init(start: Int, key: Span<UInt8>, valueBytes: Int) {
        keyPrefix = key.keyPrefix
        self.start = start
        keyCount = UInt32(key.count)
        valueCount = Int32(valueBytes)
    }

    var keyBytes: Int { Int(keyCount) }
    var valueBytes: Int { Int(valueCount) }
}

extension Span<UInt8> {
    /// The first eight bytes as a big-endian number, padded with zeros. If the prefixes of two spans differ,
    /// the spans have the same order.
    package var keyPrefix: UInt64 { unsafe withUnsafeBytes { unsafe $0.keyPrefix(at: 0) } }
}

extension UnsafeRawBufferPointer {
    /// Returns the eight bytes from an offset on as a big-endian number, padded with zeros.
    func keyPrefix(at offset: Int) -> UInt64 {
        if offset + 8 <= count {
            return unsafe UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        var prefix: UInt64 = 0
        for index in offset..<offset + 8 {
            unsafe prefix = prefix << 8 | (index < count ? UInt64(self[index]) : 0)
        }
        return prefix
    }
}
