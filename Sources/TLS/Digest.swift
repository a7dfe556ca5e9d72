internal import COpenSSL

/// SHA-256.
package enum SHA256 {
    package static let digestBytes = 32

    package static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: digestBytes) { target, count in
            unsafe COpenSSL.SHA256(bytes.baseAddress, bytes.count, target.baseAddress)
            count = digestBytes
        }
    }

    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        unsafe bytes.withUnsafeBytes { unsafe digest($0) }
    }
}

/// HMAC-SHA256 under one key, set up once for many messages.
///
/// Owns an `EVP_MAC_CTX`, pinned to one thread: not Sendable. OpenSSL wipes the key with it.
@safe package final class HMACSHA256 {
    package static let bytes = 32
    private let context: OpaquePointer

    package init(key: SecretBytes) {
        let made = unsafe key.withBytes { unsafe tls_new_hmac_sha256($0.baseAddress, UInt($0.count)) }
        guard let made = unsafe made else { preconditionFailure("OpenSSL has no HMAC-SHA256") }
        unsafe context = made
    }

    deinit { unsafe EVP_MAC_CTX_free(context) }

    /// Writes `bytes` bytes at the start of `target`.
    package func authenticate(_ message: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
        precondition(target.count >= HMACSHA256.bytes, "an HMAC needs 32 bytes")
        var written = 0
        let isGood =
            unsafe EVP_MAC_init(context, nil, 0, nil) == 1
            && EVP_MAC_update(context, message.baseAddress, message.count) == 1
            && EVP_MAC_final(context, target.baseAddress, &written, target.count) == 1
        precondition(isGood && written == HMACSHA256.bytes, "HMAC-SHA256 failed")
    }

    package func code(for message: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: HMACSHA256.bytes)
        unsafe message.withUnsafeBytes { message in
            unsafe code.withUnsafeMutableBytes { unsafe authenticate(message, into: $0) }
        }
        return code
    }
}
