internal import COpenSSL

/// Reads and writes the PEM form of keys and certificates. What it returns is owned by the caller.
enum PEM {
    /// A reader of bytes that must outlive `body`.
    private static func read<Result>(_ secret: SecretBytes, _ body: (OpaquePointer) -> Result?) -> Result? {
        unsafe secret.withBytes { bytes in
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

    static func certificates(_ source: PEMSource) throws(TLSSettingsError) -> [Certificate] {
        let text = try source.read()
        let list = unsafe read(text) { bio in
            var list: [Certificate] = []
            while let pointer = unsafe PEM_read_bio_X509(bio, nil, neverAsk, nil) {
                list.append(unsafe Certificate(owning: pointer))
            }
            return list
        }
        guard let list, !list.isEmpty else {
            let what = text.contains("PRIVATE KEY-----") ? "a private key" : "no certificate"
            throw TLSSettingsError("\(source.name) holds \(what) where a certificate in PEM form is needed")
        }
        return list
    }

    static func privateKey(_ source: PEMSource, isPrivate: Bool) throws(TLSSettingsError) -> KeyPair {
        let text = try source.read(isPrivate: isPrivate)
        if let key = unsafe read(text, { unsafe PEM_read_bio_PrivateKey($0, nil, neverAsk, nil) }) {
            return unsafe KeyPair(owning: key)
        }
        let what =
            if text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
                "is encrypted: give it without a password"
            } else if text.contains("BEGIN CERTIFICATE") {
                "holds a certificate, not a private key"
            } else if text.contains("BEGIN PUBLIC KEY") {
                "holds a public key, not a private key"
            } else {
                "holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)"
            }
        throw TLSSettingsError("\(source.name) \(what)")
    }

    static func publicKey(_ source: PEMSource) throws(TLSSettingsError) -> KeyPair {
        let text = try source.read()
        if let key = unsafe read(text, { unsafe PEM_read_bio_PUBKEY($0, nil, neverAsk, nil) }) {
            return unsafe KeyPair(owning: key)
        }
        throw TLSSettingsError("\(source.name) holds no public key in PEM form (-----BEGIN PUBLIC KEY-----)")
    }

    /// What `write` puts into memory, as text.
    static func text(_ write: (OpaquePointer) -> Int32) -> String {
        guard let bio = unsafe BIO_new(BIO_s_secmem()) else { preconditionFailure("out of memory") }
        defer { unsafe BIO_free(bio) }
        guard unsafe write(bio) == 1 else { preconditionFailure("out of memory") }
        var bytes: UnsafeMutablePointer<CChar>?
        let count = unsafe tls_memory_contents(bio, &bytes)
        return unsafe String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}

/// Without this, OpenSSL would ask for a password on the terminal.
private func neverAsk(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isWriting: Int32,
    _ user: UnsafeMutableRawPointer?
) -> Int32 { -1 }
