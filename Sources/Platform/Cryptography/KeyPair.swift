internal import COpenSSL

/// A private key with its public key, or a public key alone. It owns an OpenSSL key (`EVP_PKEY`), which
/// OpenSSL wipes when it is freed. Threads may share an `EVP_PKEY` that no thread changes
/// (openssl-threads(7)), and nothing changes this one.
@safe package final class KeyPair: Sendable {
    /// The `EVP_PKEY`, for code that signs certificates and serves TLS.
    nonisolated(unsafe) package let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe EVP_PKEY_free(pointer) }

    package static func makeP256() -> KeyPair {
        guard let key = unsafe tls_new_p256_key() else {
            preconditionFailure("OpenSSL cannot make a P-256 key")
        }
        return unsafe KeyPair(owning: key)
    }

    package var pem: String {
        unsafe PEM.text { unsafe PEM_write_bio_PKCS8PrivateKey($0, pointer, nil, nil, 0, nil, nil) }
    }

    var publicPEM: String { unsafe PEM.text { unsafe PEM_write_bio_PUBKEY($0, pointer) } }

    /// The reason why the key is unusable for ES256, or nil. The text follows the name of the key: "is an RSA
    /// key, …".
    var problemForES256: String? {
        guard unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC else {
            let isRSA = unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_RSA
            return "is \(isRSA ? "an RSA key" : "a key of another kind"), not an elliptic-curve key (P-256)"
        }
        // OpenSSL calls the curve by one of two names.
        let curve = curveName
        return curve == "prime256v1" || curve == "P-256" ? nil : "is on the curve \(curve), not on P-256"
    }

    private var curveName: String {
        var characters = [CChar](repeating: 0, count: 64)
        var count = 0
        unsafe EVP_PKEY_get_group_name(pointer, &characters, characters.count, &count)
        return String(decoding: characters.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
