internal import Glibc
internal import Kafka

/// The key of a record, as dictionaries want it: its hash is made once, and by words instead of bytes.
package struct KeyBytes: Hashable, Sendable {
    package let bytes: [UInt8]
    private let murmur: UInt32

    package init(_ bytes: [UInt8], murmur: UInt32) {
        self.bytes = bytes
        self.murmur = murmur
    }

    package init(_ bytes: [UInt8]) { self.init(bytes, murmur: Murmur2.hash(bytes.span)) }

    /// Seeded by the hasher, as all hashes of dictionaries are: keys come from outside.
    package func hash(into hasher: inout Hasher) {
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }

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

    package static func == (a: KeyBytes, b: KeyBytes) -> Bool { a.murmur == b.murmur && a.bytes == b.bytes }
}
