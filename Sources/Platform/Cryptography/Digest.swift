internal import COpenSSL

/// SHA-256.
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

/// HMAC-SHA256 under one key, which is set up once for many messages.
///
/// The object owns the two states that the key gives, and wipes them in `deinit`. It is pinned to one thread:
/// not Sendable.
@safe package final class HMACSHA256 {
    package static let bytes = 32
    private let state: UnsafeMutablePointer<tls_hmac_sha256>

    package init(key: SecretBytes) {
        unsafe state = .allocate(capacity: 1)
        unsafe key.withBytes { unsafe tls_hmac_sha256_begin(state, $0.baseAddress, UInt($0.count)) }
    }

    deinit {
        unsafe OPENSSL_cleanse(state, MemoryLayout<tls_hmac_sha256>.size)
        unsafe state.deallocate()
    }

    /// Writes `bytes` bytes at the start of `target`.
    package func authenticate(_ message: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
        precondition(target.count >= HMACSHA256.bytes, "an HMAC needs 32 bytes")
        unsafe tls_hmac_sha256(
            state, message.baseAddress, UInt(message.count),
            target.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }

    package func authenticationCode(for message: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: HMACSHA256.bytes) { code, count in
            unsafe message.withUnsafeBytes {
                unsafe authenticate($0, into: UnsafeMutableRawBufferPointer(code))
            }
            count = HMACSHA256.bytes
        }
    }
}
