internal import COpenSSL
package import Cryptography
package import Telemetry

/// A private certificate authority (CA). The simulator and tests create one, give its certificate to their
/// clients, and issue certificates to their servers with it. It is not for public servers.
package struct CertificateAuthority: Sendable {
    /// Certificates are valid from an hour before their creation, because clocks differ a little.
    private static let backdatedSeconds: Int64 = 3_600
    /// X.509 allows at most this number of characters in a common name.
    private static let commonNameBytesMax = 64
    /// DNS allows at most this number of characters in a name.
    private static let nameBytesMax = 253
    private static let serialNumberBytes = 16
    /// The field `version` of X.509 version 3, which counts from 0.
    private static let version3 = 2

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
        let validFrom = time.seconds - CertificateAuthority.backdatedSeconds
        certificate = CertificateAuthority.sign(
            subject: name, key: key, issuer: nil, issuerKey: key,
            validity: validFrom...time.seconds + Int64(days) * UTCDate.secondsPerDay,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ])
    }

    /// Loads a CA that was created before.
    package init(certificate: PEMSource, key: PEMSource) throws(PEMError) {
        self.certificate = try PEM.certificates(from: certificate)[0]
        self.key = try PEM.privateKey(from: key)
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
        let serverKey = KeyPair.makeP256()
        let alternativeNames = names.map { CertificateAuthority.isAddress($0) ? "IP:\($0)" : "DNS:\($0)" }
        let serverCertificate = CertificateAuthority.sign(
            subject: names[0], key: serverKey, issuer: certificate, issuerKey: key,
            validity: validity.lowerBound.seconds...validity.upperBound.seconds,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"),
                (NID_subject_alt_name, alternativeNames.joined(separator: ",")),
                (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always"),
            ])
        return IssuedCertificate(
            chainPEM: serverCertificate.pem + certificate.pem, keyPEM: serverKey.pem)
    }

    /// Issues a certificate that is valid from an hour before `time` until this number of days after it.
    package func issue(for names: [String], days: Int = 825, at time: WallTime = .now()) -> IssuedCertificate
    {
        let validFrom = time.seconds - CertificateAuthority.backdatedSeconds
        let validUntil = time.seconds + Int64(days) * UTCDate.secondsPerDay
        return issue(
            for: names,
            validity: WallTime(milliseconds: validFrom * 1000)...WallTime(milliseconds: validUntil * 1000))
    }

    /// Whether the text can be a host name or an address. Other characters, such as a comma, could add
    /// entries to the certificate's list of names.
    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= nameBytesMax
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "*-.:_".utf8.contains(byte)
                }
            }
    }

    private static func isAddress(_ text: String) -> Bool {
        guard let address = unsafe a2i_IPADDRESS(text) else { return false }
        unsafe ASN1_OCTET_STRING_free(address)
        return true
    }

    /// Creates a certificate and signs it.
    ///
    /// - Parameters:
    ///   - issuer: The signer's certificate. Nil makes a self-signed certificate.
    ///   - validity: Seconds since 1970.
    ///   - extensions: OpenSSL's number (`NID_…`) and text of each extension.
    private static func sign(
        subject: String, key: KeyPair, issuer: Certificate?, issuerKey: KeyPair,
        validity: ClosedRange<Int64>, extensions: [(Int32, String)]
    ) -> Certificate {
        guard let pointer = unsafe X509_new() else { preconditionFailure("out of memory") }
        let certificate = unsafe Certificate(owning: pointer)
        unsafe X509_set_version(pointer, version3)
        unsafe setSerial(of: pointer)
        unsafe setTime(X509_getm_notBefore(pointer), seconds: validity.lowerBound)
        unsafe setTime(X509_getm_notAfter(pointer), seconds: validity.upperBound)
        // A longer name stands in full in the subject alternative name.
        let commonName = Array(subject.utf8.prefix(commonNameBytesMax))
        unsafe X509_NAME_add_entry_by_NID(
            X509_get_subject_name(pointer), NID_commonName, MBSTRING_UTF8, commonName,
            Int32(commonName.count), -1, 0)
        let issuerPointer = unsafe issuer?.pointer ?? pointer
        unsafe X509_set_issuer_name(pointer, X509_get_subject_name(issuerPointer))
        unsafe X509_set_pubkey(pointer, key.pointer)
        for (identifier, value) in extensions {
            let result = unsafe tls_add_extension(pointer, issuerPointer, identifier, value)
            precondition(result == 1, "a certificate extension was refused")
        }
        let signatureBytes = unsafe X509_sign(pointer, issuerKey.pointer, EVP_sha256())
        precondition(signatureBytes > 0, "the certificate could not be signed")
        return certificate
    }

    private static func setSerial(of certificate: OpaquePointer) {
        var bytes = Random.bytes(count: serialNumberBytes)
        // The number must be positive, so the first bit is 0. The second is 1, so that all have the same
        // length.
        bytes[0] = bytes[0] & 0x7F | 0x40
        let number = unsafe BN_bin2bn(bytes, Int32(bytes.count), nil)
        unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate))
        unsafe BN_free(number)
    }

    private static func setTime(_ field: UnsafeMutablePointer<ASN1_TIME>?, seconds: Int64) {
        unsafe ASN1_TIME_set(field, time_t(seconds))
    }
}
