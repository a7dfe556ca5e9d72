internal import COpenSSL

/// The hash function SHA-256.
package enum SHA256 {
    package static let digestBytes = 32

    package static func digest(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: digestBytes) { target, count in
            unsafe digest(of: bytes, into: UnsafeMutableRawBufferPointer(target))
            count = digestBytes
        }
    }

    /// Writes `digestBytes` bytes at the start of `target`.
    package static func digest(
        of bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
    ) {
        precondition(target.count >= digestBytes, "a SHA-256 needs 32 bytes")
        unsafe tls_sha256(
            bytes.baseAddress, UInt(bytes.count),
            target.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }

    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        unsafe bytes.withUnsafeBytes { unsafe digest(of: $0) }
    }
}
