internal import COpenSSL

/// Reading and writing of keys in PEM form, the text between `-----BEGIN PRIVATE KEY-----` and
/// `-----END PRIVATE KEY-----`. The module `TLS` adds certificates.
package enum PEM {
    /// Calls `body` with an OpenSSL reader (`BIO`) of the text, which is valid during the call.
    package static func read<Result>(_ text: SecretBytes, body: (OpaquePointer) -> Result?) -> Result? {
        unsafe text.withBytes { bytes in
            guard let bio = unsafe tls_memory_reader(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                return nil
            }
            defer { unsafe BIO_free(bio) }
            OpenSSLErrors.clear()
            let result = unsafe body(bio)
            OpenSSLErrors.clear()
            return result
        }
    }

    /// Reads a private key without a password. Its file must be readable only for its owner and the owner's group.
    package static func privateKey(from source: PEMSource) throws(PEMError) -> KeyPair {
        let text = try source.read(isPrivate: true)
        if let key = unsafe read(text, body: { unsafe PEM_read_bio_PrivateKey($0, nil, refusePassword, nil) })
        {
            return unsafe KeyPair(owning: key)
        }
        throw PEMError("\(source.name) \(problemOfPrivateKey(in: text))")
    }

    private static func problemOfPrivateKey(in text: SecretBytes) -> String {
        if text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
            "is encrypted: give it without a password"
        } else if text.contains("BEGIN CERTIFICATE") {
            "holds a certificate, not a private key"
        } else if text.contains("BEGIN PUBLIC KEY") {
            "holds a public key, not a private key"
        } else {
            "holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)"
        }
    }

    static func publicKey(from source: PEMSource) throws(PEMError) -> KeyPair {
        let text = try source.read()
        if let key = unsafe read(text, body: { unsafe PEM_read_bio_PUBKEY($0, nil, refusePassword, nil) }) {
            return unsafe KeyPair(owning: key)
        }
        throw PEMError("\(source.name) holds no public key in PEM form (-----BEGIN PUBLIC KEY-----)")
    }

    /// Returns the text that `write` writes into an OpenSSL `BIO`. The memory of the `BIO` is wiped, the text
    /// is not.
    package static func text(writtenBy write: (OpaquePointer) -> Int32) -> String {
        guard let bio = unsafe BIO_new(BIO_s_secmem()) else { preconditionFailure("out of memory") }
        defer { unsafe BIO_free(bio) }
        guard unsafe write(bio) == 1 else { preconditionFailure("out of memory") }
        var bytes: UnsafeMutablePointer<CChar>?
        let count = unsafe tls_memory_contents(bio, &bytes)
        return unsafe String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}

/// A password callback that always fails. Without it, OpenSSL would ask for a password on the terminal.
package func refusePassword(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isWriting: Int32,
    _ user: UnsafeMutableRawPointer?
) -> Int32 { -1 }
