internal import Glibc
internal import Store

/// The key of a record, as dictionaries want it: its bytes are hashed once, however often it is looked for.
package struct KeyBytes: Hashable, Sendable {
    package let bytes: [UInt8]
    package let hash: Int

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        hash = Self.hash(of: bytes.span)
    }

    /// By the process's own seed, as keys come from outside.
    package static func hash(of bytes: Span<UInt8>) -> Int {
        var hasher = Hasher()
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    func holds(_ key: UnsafeRawBufferPointer) -> Bool {
        unsafe bytes.withUnsafeBytes { own in
            guard own.count == key.count else { return false }
            guard let a = own.baseAddress, let b = key.baseAddress else { return true }
            return unsafe memcmp(a, b, own.count) == 0
        }
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// Byte by byte, as the view has its rows.
    package func precedes(_ other: KeyBytes) -> Bool { bytes.span.order(to: other.bytes.span) < 0 }

    package static func == (a: KeyBytes, b: KeyBytes) -> Bool { a.hash == b.hash && a.bytes == b.bytes }
}
