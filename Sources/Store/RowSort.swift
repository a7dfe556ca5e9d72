internal import Glibc

/// Sorts the rows of a batch by key. Many rows are dealt out by eight bytes of their keys, a byte at a
/// time, without comparing any two; those that agree in all eight go on with the next eight. Few rows
/// are compared.
///
/// Rows of one key keep their order.
enum RowSort {
    /// Fewer than this are compared: dealing out looks at a table of 256 positions for each byte.
    private static let dealtMin = 64

    static func sort(
        _ rows: UnsafeMutableBufferPointer<BatchedRow>, keysIn bytes: UnsafeRawBufferPointer
    ) {
        guard rows.count >= dealtMin else { return unsafe compare(rows, bytes, from: 0) }
        let spare = UnsafeMutableBufferPointer<BatchedRow>.allocate(capacity: rows.count)
        defer { unsafe spare.deallocate() }
        // On the heap: as a temporary of the stack, Swift 6.3.1 leaves the stack misaligned.
        let counts = UnsafeMutableBufferPointer<Int>.allocate(capacity: 8 * 256)
        defer { unsafe counts.deallocate() }
        unsafe counts.initialize(repeating: 0)
        unsafe sort(rows, spare: Spare(rows: spare, counts: counts), in: bytes, from: 0)
    }

    /// Room to deal rows out, and how many of them have each value of each byte.
    @unsafe private struct Spare {
        let rows: UnsafeMutableBufferPointer<BatchedRow>
        let counts: UnsafeMutableBufferPointer<Int>
    }

    /// All rows agree in the bytes before the depth, and their heads are of it.
    private static func sort(
        _ rows: UnsafeMutableBufferPointer<BatchedRow>, spare: Spare, in bytes: UnsafeRawBufferPointer,
        from depth: Int
    ) {
        unsafe deal(rows, spare)
        var first = 0
        while first < rows.count {
            let head = unsafe rows[first].head
            var end = first + 1
            while unsafe end < rows.count && rows[end].head == head { end += 1 }
            if end - first > 1 {
                let alike = unsafe UnsafeMutableBufferPointer(rebasing: rows[first..<end])
                let next = depth + 8
                if unsafe alike.count < dealtMin || !alike.contains(where: { $0.keyBytes > next }) {
                    unsafe compare(alike, bytes, from: depth)
                } else {
                    for index in alike.indices {
                        let row = unsafe alike[index]
                        let key = unsafe UnsafeRawBufferPointer(
                            rebasing: bytes[row.start..<row.start + row.keyBytes])
                        unsafe alike[index].head = unsafe next < key.count ? key.head(at: next) : 0
                    }
                    unsafe sort(alike, spare: spare, in: bytes, from: next)
                }
            }
            first = end
        }
    }

    /// One after the other, each to its position among those before it.
    private static func compare(
        _ rows: UnsafeMutableBufferPointer<BatchedRow>, _ bytes: UnsafeRawBufferPointer, from depth: Int
    ) {
        for index in rows.indices.dropFirst() {
            let row = unsafe rows[index]
            var hole = index
            while hole > 0, unsafe precedes(row, rows[hole - 1], in: bytes, from: depth) {
                unsafe rows[hole] = unsafe rows[hole - 1]
                hole -= 1
            }
            unsafe rows[hole] = row
        }
    }

    private static func precedes(
        _ a: BatchedRow, _ b: BatchedRow, in bytes: UnsafeRawBufferPointer, from depth: Int
    ) -> Bool {
        if a.head != b.head { return a.head < b.head }
        let common = min(a.keyBytes, b.keyBytes) - depth
        let order =
            common > 0
            ? unsafe memcmp(
                bytes.baseAddress! + a.start + depth, bytes.baseAddress! + b.start + depth, common) : 0
        return order != 0 ? order < 0 : a.keyBytes < b.keyBytes
    }

    /// By the eight bytes of the head, the last byte first; each pass keeps the order of the one before.
    private static func deal(_ rows: UnsafeMutableBufferPointer<BatchedRow>, _ spare: Spare) {
        let counts = unsafe spare.counts
        unsafe counts.update(repeating: 0)
        for index in rows.indices {
            var head = unsafe rows[index].head
            for digit in 0..<8 {
                unsafe counts[256 * digit + Int(head & 0xFF)] += 1
                head >>= 8
            }
        }
        var (from, to) = unsafe (rows.baseAddress!, spare.rows.baseAddress!)
        for digit in 0..<8 {
            let positions = unsafe counts.baseAddress! + 256 * digit
            let shift = UInt64(8 * digit)
            // Where all rows agree there is nothing to deal out.
            if unsafe positions[Int(from[0].head >> shift & 0xFF)] == rows.count { continue }
            var sum = 0
            for value in 0..<256 {
                let count = unsafe positions[value]
                unsafe positions[value] = sum
                sum += count
            }
            for index in rows.indices {
                let value = unsafe Int(from[index].head >> shift & 0xFF)
                unsafe (to + positions[value]).initialize(to: from[index])
                unsafe positions[value] += 1
            }
            unsafe swap(&from, &to)
        }
        if unsafe from != rows.baseAddress! {
            unsafe rows.baseAddress!.update(from: from, count: rows.count)
        }
    }
}
