internal import COpenSSL
internal import Cryptography

extension PEM {
    /// Reads all certificates of a source, at least one.
    static func certificates(from source: PEMSource) throws(PEMError) -> [Certificate] {
        let text = try source.read()
        let certificates = unsafe read(text) { bio in
            var certificates: [Certificate] = []
            while let pointer = unsafe PEM_read_bio_X509(bio, nil, refusePassword, nil) {
                certificates.append(unsafe Certificate(owning: pointer))
            }
            return certificates
        }
        guard let certificates, !certificates.isEmpty else {
            let content = text.contains("PRIVATE KEY-----") ? "a private key" : "no certificate"
            throw PEMError("\(source.name) holds \(content) where a certificate in PEM form is needed")
        }
        return certificates
    }
}
