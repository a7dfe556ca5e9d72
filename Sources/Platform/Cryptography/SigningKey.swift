internal import COpenSSL

/// A private key for ES256 (ECDSA on P-256 with SHA-256), such as the key in Apple's `.p8` file. Loading it
/// checks it, so an unusable key is reported then and not when APNs refuses the first push.
package struct SigningKey: Sendable {
    private let key: KeyPair

    /// More than the 72 bytes that a signature in DER can have.
    private static let derCapacity = 128

    /// Loads a PEM file, which only its owner and the owner's group may read.
    package init(file path: String) throws(PEMError) { try self.init(source: .file(path)) }

    package init(pem: String) throws(PEMError) {
        try self.init(source: .text(pem, name: "the given key"))
    }

    /// Creates a new key, for tests and for the simulator.
    package init() { key = KeyPair.makeP256() }

    private init(source: PEMSource) throws(PEMError) {
        key = try PEM.privateKey(from: source)
        if let problem = key.problemForES256 { throw PEMError("key \(source.name) \(problem)") }
    }

    package var pem: String { key.pem }

    package var verifyingKey: VerifyingKey { VerifyingKey(key: key) }

    /// Returns the signature in 64 bytes, r then s, as a JSON Web Token carries it.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: Self.derCapacity)
        var count = der.count
        let isSigned =
            unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key.pointer) == 1
            && EVP_DigestSign(context, &der, &count, message, message.count) == 1
        // The key was checked when it was loaded.
        guard isSigned, let raw = ES256Signature.raw(fromDER: Array(der.prefix(count))) else {
            preconditionFailure("OpenSSL cannot sign: \(OpenSSLErrors.takeFirst().text)")
        }
        return raw
    }
}

/// A public key that verifies ES256 signatures.
package struct VerifyingKey: Sendable {
    private let key: KeyPair

    fileprivate init(key: KeyPair) { self.key = key }

    package init(pem: String) throws(PEMError) {
        try self.init(source: .text(pem, name: "the given key"))
    }

    package init(file path: String) throws(PEMError) { try self.init(source: .file(path)) }

    private init(source: PEMSource) throws(PEMError) {
        key = try PEM.publicKey(from: source)
        if let problem = key.problemForES256 { throw PEMError("key \(source.name) \(problem)") }
    }

    package var pem: String { key.publicPEM }

    /// Whether the signature is valid.
    ///
    /// - Parameter signature: 64 bytes, r then s. Any other length is invalid.
    package func isValidSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let der = ES256Signature.der(fromRaw: signature) else { return false }
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key.pointer) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }
}
