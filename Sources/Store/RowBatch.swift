internal import Glibc

/// Rows to write or remove, side by side in one buffer: filled without an allocation per row, sorted
/// if that pays, and applied in one transaction as often as that takes.
package struct RowBatch: ~Copyable {
    private struct Entry {
        var start: Int
        var keyBytes: Int
        /// Negative for a removal.
        var valueBytes: Int
        /// The key's first bytes as a number that orders as they do: most comparisons end there and
        /// need not go to the bytes.
        var head: UInt64
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []

    package init() {}

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    /// Keys and values together.
    package var byteCount: Int { bytes.count }

    /// The memory that so many rows and bytes take, taken at once.
    package mutating func reserve(rows: Int, bytes byteCount: Int) {
        entries.reserveCapacity(rows)
        bytes.reserveCapacity(byteCount)
    }

    package mutating func put(_ key: Span<UInt8>, _ value: Span<UInt8>) {
        entries.append(
            Entry(start: bytes.count, keyBytes: key.count, valueBytes: value.count, head: key.head))
        append(key)
        append(value)
    }

    package mutating func remove(_ key: Span<UInt8>) {
        entries.append(Entry(start: bytes.count, keyBytes: key.count, valueBytes: -1, head: key.head))
        append(key)
    }

    /// Forgets the rows and keeps the memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }

    /// Orders by key; changes of the same key keep their order, so the last one stands.
    package mutating func sort() {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            entries.sort { a, b in
                if a.head != b.head { return a.head < b.head }
                let order = unsafe memcmp(
                    bytes.baseAddress! + a.start, bytes.baseAddress! + b.start, min(a.keyBytes, b.keyBytes))
                if order != 0 { return order < 0 }
                if a.keyBytes != b.keyBytes { return a.keyBytes < b.keyBytes }
                return a.start < b.start
            }
        }
    }

    @_lifetime(borrow self)
    package func key(_ index: Int) -> Span<UInt8> {
        let entry = entries[index]
        return bytes.span.extracting(entry.start..<entry.start + entry.keyBytes)
    }

    /// nil for a removal.
    @_lifetime(borrow self)
    package func value(_ index: Int) -> Span<UInt8>? {
        let entry = entries[index]
        guard entry.valueBytes >= 0 else { return nil }
        let start = entry.start + entry.keyBytes
        return bytes.span.extracting(start..<start + entry.valueBytes)
    }

    private mutating func append(_ span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    }
}

extension Span<UInt8> {
    /// The first eight bytes, the first of them the most significant; zeros where there are fewer. Where
    /// two differ, so do the spans, in the same direction.
    package var head: UInt64 {
        unsafe withUnsafeBytes { bytes in
            if bytes.count >= 8 { return unsafe UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) }
            var head: UInt64 = 0
            for index in 0..<8 { unsafe head = head << 8 | (index < bytes.count ? UInt64(bytes[index]) : 0) }
            return head
        }
    }
}
