internal import Glibc

/// The key of a record, as dictionaries want it: its bytes are hashed once, however often it is looked for.
package struct KeyBytes: Hashable, Sendable {
    package let bytes: [UInt8]
    /// By the process's own seed, as keys come from outside.
    private let hash: Int

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var hasher = Hasher()
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        hash = hasher.finalize()
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// Byte by byte, as the view has its rows.
    package func precedes(_ other: KeyBytes) -> Bool {
        let count = min(bytes.count, other.bytes.count)
        let order: Int32 = unsafe bytes.withUnsafeBytes { a in
            unsafe other.bytes.withUnsafeBytes { b in
                // An empty one has no address.
                guard let a = a.baseAddress, let b = b.baseAddress else { return 0 }
                return unsafe memcmp(a, b, count)
            }
        }
        return order != 0 ? order < 0 : bytes.count < other.bytes.count
    }

    package static func == (a: KeyBytes, b: KeyBytes) -> Bool { a.hash == b.hash && a.bytes == b.bytes }
}
