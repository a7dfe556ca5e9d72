internal import COpenSSL

/// The authentication code HMAC-SHA256 with one key. The key is processed once, for all messages.
///
/// The object owns the processed key, which is as secret as the key, and wipes it in `deinit`. It is confined
/// to one thread.
@safe package final class HMACSHA256 {
    package static let codeBytes = 32
    private let processedKey: UnsafeMutablePointer<tls_hmac_sha256>

    package init(key: SecretBytes) {
        unsafe processedKey = .allocate(capacity: 1)
        unsafe key.withBytes { unsafe tls_hmac_sha256_begin(processedKey, $0.baseAddress, UInt($0.count)) }
    }

    deinit {
        unsafe OPENSSL_cleanse(processedKey, MemoryLayout<tls_hmac_sha256>.size)
        unsafe processedKey.deallocate()
    }

    /// Writes the 32 bytes of the code at the start of `target`.
    package func authenticate(_ message: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
        precondition(target.count >= HMACSHA256.codeBytes, "an HMAC-SHA256 needs 32 bytes")
        unsafe tls_hmac_sha256(
            processedKey, message.baseAddress, UInt(message.count),
            target.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }

    package func authenticationCode(for message: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: HMACSHA256.codeBytes) { code, count in
            unsafe message.withUnsafeBytes {
                unsafe authenticate($0, into: UnsafeMutableRawBufferPointer(code))
            }
            count = HMACSHA256.codeBytes
        }
    }
}
