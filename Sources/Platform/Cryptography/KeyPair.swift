internal import COpenSSL

/// A private key with its public half, or only a public key. It owns an `EVP_PKEY`. Threads may share it as
/// long as none of them changes it (openssl-threads(7)), and none does. OpenSSL wipes it when it is freed.
@safe package final class KeyPair: Sendable {
    /// The key, for code that signs certificates and serves TLS.
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

    /// The reason why the key is unusable for ES256, or nil.
    var problemForES256: String? {
        guard unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC else {
            let isRSA = unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_RSA
            return "is \(isRSA ? "an RSA key" : "a key of another kind"), not an elliptic-curve key (P-256)"
        }
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, &count)
        let curve = String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return curve == "prime256v1" || curve == "P-256" ? nil : "is on the curve \(curve), not on P-256"
    }
}
