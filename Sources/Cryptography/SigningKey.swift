internal import COpenSSL

/// A private key for ES256 (ECDSA on P-256 with SHA-256), such as Apple's `.p8` file. What it cannot be
/// is told when it is loaded, not when the first push is refused.
package struct SigningKey: Sendable {
    private let key: KeyPair

    /// A file in PEM form that only its owner can read.
    package init(file path: String) throws(PEMError) { try self.init(.file(path), isPrivate: true) }

    package init(pem: String) throws(PEMError) {
        try self.init(.text(pem, name: "the given key"), isPrivate: true)
    }

    /// A new one, for tests and for the simulator.
    package init() { key = KeyPair.makeP256() }

    private init(_ source: PEMSource, isPrivate: Bool) throws(PEMError) {
        key = try PEM.privateKey(source, isPrivate: isPrivate)
        if let problem = key.problemForES256 { throw PEMError("key \(source.name) \(problem)") }
    }

    package var pem: String { key.pem }

    package var verifyingKey: VerifyingKey { VerifyingKey(key) }

    /// 64 bytes, r then s, as a JSON Web Token carries it.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: 128)
        var count = der.count
        let isGood =
            unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key.pointer) == 1
            && EVP_DigestSign(context, &der, &count, message, message.count) == 1
        // The key was found good when it was loaded.
        guard isGood, let raw = ES256Signature.raw(fromDER: Array(der.prefix(count))) else {
            preconditionFailure("OpenSSL cannot sign: \(OpenSSLErrors.takeFirst().text)")
        }
        return raw
    }
}

/// A public key that ES256 signatures are checked with.
package struct VerifyingKey: Sendable {
    private let key: KeyPair

    fileprivate init(_ key: KeyPair) { self.key = key }

    package init(pem: String) throws(PEMError) {
        try self.init(.text(pem, name: "the given key"))
    }

    package init(file path: String) throws(PEMError) { try self.init(.file(path)) }

    private init(_ source: PEMSource) throws(PEMError) {
        key = try PEM.publicKey(source)
        if let problem = key.problemForES256 { throw PEMError("key \(source.name) \(problem)") }
    }

    package var pem: String { key.publicPEM }

    /// - Parameter signature: 64 bytes, r then s; anything else is no signature.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let der = ES256Signature.der(fromRaw: signature) else { return false }
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key.pointer) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }
}
