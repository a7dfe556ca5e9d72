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

    package static func == (a: KeyBytes, b: KeyBytes) -> Bool { a.murmur == b.murmur && a.bytes == b.bytes }
}
