internal import Glibc
internal import Store

/// The key of a record, for use in dictionaries. The hash of its bytes is computed once, and every lookup uses it.
package struct HashedKey: Hashable, Sendable {
    package let bytes: [UInt8]
    package let hash: Int

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        hash = Self.hash(of: bytes.span)
    }

    /// Returns the hash of a key, with the process's random seed, because keys come from outside.
    package static func hash(of bytes: Span<UInt8>) -> Int {
        var hasher = Hasher()
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    /// Whether this key has the same bytes.
    func equals(_ key: UnsafeRawBufferPointer) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard bytes.count == key.count else { return false }
            // Only empty keys have no address.
            guard let a = bytes.baseAddress, let b = key.baseAddress else { return true }
            return unsafe memcmp(a, b, bytes.count) == 0
        }
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// Whether this key sorts before `other`, byte by byte. This is the order of the rows in a view's file.
    package func precedes(_ other: HashedKey) -> Bool { bytes.span.compare(to: other.bytes.span) < 0 }

    package static func == (a: HashedKey, b: HashedKey) -> Bool { a.hash == b.hash && a.bytes == b.bytes }
}
