internal import Glibc

/// A sort of a batch's rows by key. Many rows are sorted by radix over eight bytes of their keys
/// (`keyPrefix`), without comparisons. Rows with equal prefixes continue with the next eight bytes. Few rows
/// are sorted by insertion.
///
/// The sort is stable: rows of one key keep their order.
enum RowSort {
    /// The number of bytes in a `keyPrefix`, and of values of each byte.
    private static let prefixBytes = 8
    private static let byteValues = 256
    /// Fewer rows are compared, because a radix pass visits a table of 256 positions for each byte.
    private static let radixRowsMin = 64

    static func sort(
        _ rows: UnsafeMutableBufferPointer<BatchedRow>, keysIn bytes: UnsafeRawBufferPointer
    ) {
        guard rows.count >= radixRowsMin else { return unsafe insertionSort(rows, keysIn: bytes, from: 0) }
        let spare = UnsafeMutableBufferPointer<BatchedRow>.allocate(capacity: rows.count)
        defer { unsafe spare.deallocate() }
        // On the heap, because Swift 6.3.1 misaligns the stack for a temporary of this size.
        let counts = UnsafeMutableBufferPointer<Int>.allocate(capacity: prefixBytes * byteValues)
        defer { unsafe counts.deallocate() }
        unsafe counts.initialize(repeating: 0)
        unsafe sort(rows, spare: SortBuffers(spareRows: spare, counts: counts), in: bytes, from: 0)
    }

    /// A second buffer for rows, and the number of rows for each value of each prefix byte.
    @unsafe private struct SortBuffers {
        let spareRows: UnsafeMutableBufferPointer<BatchedRow>
        let counts: UnsafeMutableBufferPointer<Int>
    }

    /// Sorts rows whose keys agree in their first `depth` bytes. The prefixes are the bytes that follow.
    private static func sort(
        _ rows: UnsafeMutableBufferPointer<BatchedRow>, spare: SortBuffers, in bytes: UnsafeRawBufferPointer,
        from depth: Int
    ) {
        unsafe sortByPrefix(rows, spare: spare)
        var first = 0
        while first < rows.count {
            let prefix = unsafe rows[first].keyPrefix
            var end = first + 1
            while unsafe end < rows.count && rows[end].keyPrefix == prefix { end += 1 }
            if end - first > 1 {
                let equalRows = unsafe UnsafeMutableBufferPointer(rebasing: rows[first..<end])
                unsafe sortBeyondPrefix(equalRows, spare: spare, in: bytes, from: depth)
            }
            first = end
        }
    }

    /// Sorts rows whose prefixes are equal, too, by the bytes behind the prefixes.
    private static func sortBeyondPrefix(
        _ rows: UnsafeMutableBufferPointer<BatchedRow>, spare: SortBuffers, in bytes: UnsafeRawBufferPointer,
        from depth: Int
    ) {
        let nextDepth = depth + prefixBytes
        if unsafe rows.count < radixRowsMin || !rows.contains(where: { $0.keyBytes > nextDepth }) {
            return unsafe insertionSort(rows, keysIn: bytes, from: depth)
        }
        for index in rows.indices {
            let row = unsafe rows[index]
            let key = unsafe UnsafeRawBufferPointer(rebasing: bytes[row.start..<row.start + row.keyBytes])
            unsafe rows[index].keyPrefix = unsafe nextDepth < key.count ? key.keyPrefix(at: nextDepth) : 0
        }
        unsafe sort(rows, spare: spare, in: bytes, from: nextDepth)
    }

    /// Sorts rows whose keys agree in their first `depth` bytes by insertion.
    private static func insertionSort(
        _ rows: UnsafeMutableBufferPointer<BatchedRow>, keysIn bytes: UnsafeRawBufferPointer, from depth: Int
    ) {
        for index in rows.indices.dropFirst() {
            let row = unsafe rows[index]
            var hole = index
            while hole > 0, unsafe precedes(row, rows[hole - 1], keysIn: bytes, from: depth) {
                unsafe rows[hole] = unsafe rows[hole - 1]
                hole -= 1
            }
            unsafe rows[hole] = row
        }
    }

    private static func precedes(
        _ a: BatchedRow, _ b: BatchedRow, keysIn bytes: UnsafeRawBufferPointer, from depth: Int
    ) -> Bool {
        if a.keyPrefix != b.keyPrefix { return a.keyPrefix < b.keyPrefix }
        let common = min(a.keyBytes, b.keyBytes) - depth
        let order =
            common > 0
            ? unsafe memcmp(
                bytes.baseAddress! + a.start + depth, bytes.baseAddress! + b.start + depth, common) : 0
        return order != 0 ? order < 0 : a.keyBytes < b.keyBytes
    }

    /// Sorts by the eight bytes of the prefix, the last byte first. Each pass is stable.
    private static func sortByPrefix(_ rows: UnsafeMutableBufferPointer<BatchedRow>, spare: SortBuffers) {
        let counts = unsafe spare.counts
        unsafe counts.update(repeating: 0)
        for index in rows.indices {
            var prefix = unsafe rows[index].keyPrefix
            for digit in 0..<prefixBytes {
                unsafe counts[byteValues * digit + Int(prefix & 0xFF)] += 1
                prefix >>= 8
            }
        }
        var (from, to) = unsafe (rows.baseAddress!, spare.spareRows.baseAddress!)
        for digit in 0..<prefixBytes {
            let positions = unsafe counts.baseAddress! + byteValues * digit
            let shift = UInt64(8 * digit)
            // If all rows agree in this byte, the pass is not needed.
            if unsafe positions[Int(from[0].keyPrefix >> shift & 0xFF)] == rows.count { continue }
            // Each count becomes the position of the first row with this value.
            var sum = 0
            for value in 0..<byteValues {
                let count = unsafe positions[value]
                unsafe positions[value] = sum
                sum += count
            }
            for index in rows.indices {
                let value = unsafe Int(from[index].keyPrefix >> shift & 0xFF)
                unsafe (to + positions[value]).initialize(to: from[index])
                unsafe positions[value] += 1
            }
            unsafe swap(&from, &to)
        }
        // After an odd number of passes the sorted rows are in the spare buffer.
        if unsafe from != rows.baseAddress! {
            unsafe rows.baseAddress!.update(from: from, count: rows.count)
        }
    }
}
