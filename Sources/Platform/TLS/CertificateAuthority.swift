internal import COpenSSL
package import Cryptography
package import Telemetry

/// A private CA for servers that no public CA certifies. The simulator and tests create one, give its
/// certificate to their clients, and sign their servers' certificates with it. Not for public servers.
package struct CertificateAuthority: Sendable {
    private static let secondsPerDay: Int64 = 86_400
    /// Certificates are valid from an hour ago, because clocks differ a little.
    private static let backdatedSeconds: Int64 = 3_600

    private let certificate: Certificate
    private let key: KeyPair

    /// A certificate and its key, in PEM form.
    package struct IssuedCertificate: Sendable {
        /// The certificate, followed by its CA's certificate.
        package let chainPEM: String
        package let keyPEM: String
    }

    /// Creates a CA with a new key and a self-signed certificate.
    package init(name: String, days: Int = 3650, at time: WallTime = .now()) {
        key = KeyPair.makeP256()
        let from = time.seconds - CertificateAuthority.backdatedSeconds
        certificate = CertificateAuthority.sign(
            subject: name, key: key, issuer: nil, issuerKey: key,
            validity: from...time.seconds + Int64(days) * CertificateAuthority.secondsPerDay,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ])
    }

    /// Loads a CA that was created before.
    package init(certificate: PEMSource, key: PEMSource) throws(PEMError) {
        self.certificate = try PEM.certificates(from: certificate)[0]
        self.key = try PEM.privateKey(from: key, isPrivate: true)
        guard self.certificate.belongs(to: self.key) else {
            throw PEMError("certificate \(certificate.name) does not belong to key \(key.name)")
        }
    }

    package var certificatePEM: String { certificate.pem }
    /// The private key. Store it only in a file that its owner alone can read.
    package var keyPEM: String { key.pem }

    /// Issues a certificate with a new server key for these names and addresses.
    package func issue(for names: [String], validity: ClosedRange<WallTime>) -> IssuedCertificate {
        precondition(
            !names.isEmpty && names.allSatisfy(CertificateAuthority.isName), "not a name or an address")
        let leaf = KeyPair.makeP256()
        let alternatives = names.map { CertificateAuthority.isAddress($0) ? "IP:\($0)" : "DNS:\($0)" }
        let signed = CertificateAuthority.sign(
            subject: names[0], key: leaf, issuer: certificate, issuerKey: key,
            validity: validity.lowerBound.seconds...validity.upperBound.seconds,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"),
                (NID_subject_alt_name, alternatives.joined(separator: ",")),
                (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always"),
            ])
        return IssuedCertificate(chainPEM: signed.pem + certificate.pem, keyPEM: leaf.pem)
    }

    /// Issues a certificate that is valid from an hour ago for this number of days.
    package func issue(for names: [String], days: Int = 825, at time: WallTime = .now()) -> IssuedCertificate
    {
        let from = time.seconds - CertificateAuthority.backdatedSeconds
        let until = time.seconds + Int64(days) * CertificateAuthority.secondsPerDay
        return issue(
            for: names,
            validity: WallTime(milliseconds: from * 1000)...WallTime(milliseconds: until * 1000))
    }

    /// Whether the text is a safe name. Other characters could add entries to the list of names.
    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: [0x2A, 0x2D, 0x2E, 0x3A, 0x5F].contains(byte)  // * - . : _
                }
            }
    }

    private static func isAddress(_ text: String) -> Bool {
        guard let address = unsafe a2i_IPADDRESS(text) else { return false }
        unsafe ASN1_OCTET_STRING_free(address)
        return true
    }

    private static func sign(
        subject: String, key: KeyPair, issuer: Certificate?, issuerKey: KeyPair,
        validity: ClosedRange<Int64>, extensions: [(Int32, String)]
    ) -> Certificate {
        guard let pointer = unsafe X509_new() else { preconditionFailure("out of memory") }
        let made = unsafe Certificate(owning: pointer)
        unsafe X509_set_version(pointer, 2)
        unsafe setSerial(of: pointer)
        unsafe setTime(X509_getm_notBefore(pointer), seconds: validity.lowerBound)
        unsafe setTime(X509_getm_notAfter(pointer), seconds: validity.upperBound)
        // A common name has at most 64 characters. The subject alternative name holds a longer name in full.
        let name = unsafe X509_get_subject_name(pointer)
        let common = Array(subject.utf8.prefix(64))
        unsafe X509_NAME_add_entry_by_NID(
            name, NID_commonName, MBSTRING_UTF8, common, Int32(common.count), -1, 0)
        let signer = unsafe issuer?.pointer ?? pointer
        unsafe X509_set_issuer_name(pointer, X509_get_subject_name(signer))
        unsafe X509_set_pubkey(pointer, key.pointer)
        for (kind, value) in extensions {
            let added = unsafe tls_add_extension(pointer, signer, kind, value)
            precondition(added == 1, "a certificate extension was refused")
        }
        let size = unsafe X509_sign(pointer, issuerKey.pointer, EVP_sha256())
        precondition(size > 0, "the certificate could not be signed")
        return made
    }

    private static func setSerial(of certificate: OpaquePointer) {
        var bytes = Random.bytes(count: 16)
        bytes[0] = bytes[0] & 0x7F | 0x40
        let number = unsafe BN_bin2bn(bytes, Int32(bytes.count), nil)
        unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate))
        unsafe BN_free(number)
    }

    private static func setTime(_ field: UnsafeMutablePointer<ASN1_TIME>?, seconds: Int64) {
        unsafe ASN1_TIME_set(field, time_t(seconds))
    }
}
