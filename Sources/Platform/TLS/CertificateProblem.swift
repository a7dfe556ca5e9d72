internal import COpenSSL
internal import Glibc

/// The reason why OpenSSL's verification refused a peer's certificate, with the facts of the certificate that
/// a message needs. It copies them during the verification, because the certificate is not available later.
struct CertificateProblem {
    /// OpenSSL's number of the problem (`X509_V_ERR_…`).
    private let code: Int32
    private let names: [String]
    private let issuer: String
    private let validFrom: String
    private let validUntil: String
    private static let namesMax = 4
    /// Texts of a certificate come from the peer and appear in log lines, so their length is limited.
    private static let textBytesMax = 200

    /// - Parameter store: The state of the verification (`X509_STORE_CTX`), valid during OpenSSL's callback.
    init(store: OpaquePointer) {
        code = unsafe X509_STORE_CTX_get_error(store)
        guard let certificate = unsafe X509_STORE_CTX_get_current_cert(store) else {
            (names, issuer, validFrom, validUntil) = ([], "unknown", "unknown", "unknown")
            return
        }
        names = unsafe CertificateProblem.names(of: certificate)
        issuer = unsafe CertificateProblem.text(of: X509_get_issuer_name(certificate))
        validFrom = unsafe CertificateProblem.dateText(from: X509_get0_notBefore(certificate))
        validUntil = unsafe CertificateProblem.dateText(from: X509_get0_notAfter(certificate))
    }

    func failure(peer: String) -> TLSFailure {
        switch code {
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            .wrongHost(peer: peer, certificateNames: names)
        case X509_V_ERR_CERT_HAS_EXPIRED: .expired(peer: peer, date: validUntil)
        case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid(peer: peer, date: validFrom)
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_UNTRUSTED:
            .unknownAuthority(peer: peer, issuer: issuer)
        default:
            // OpenSSL returns static text here.
            .badCertificate(
                peer: peer, reason: unsafe String(cString: X509_verify_cert_error_string(Int(code))))
        }
    }

    // MARK: Reading a certificate

    /// Receives the names of a certificate from `tls_each_name`.
    fileprivate final class NameCollector {
        private(set) var names: [String] = []

        func add(_ bytes: [UInt8], isAddress: Bool) {
            guard names.count < CertificateProblem.namesMax else { return }
            names.append(isAddress ? addressText(from: bytes) : printableText(from: bytes))
        }
    }

    /// Returns the first names and addresses that the certificate is for. Without any, returns its subject.
    static func names(of certificate: OpaquePointer) -> [String] {
        let collector = NameCollector()
        unsafe tls_each_name(certificate, Unmanaged.passUnretained(collector).toOpaque(), noteName)
        return collector.names.isEmpty
            ? [unsafe text(of: X509_get_subject_name(certificate))] : collector.names
    }

    private static func addressText(from bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: 64)
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard bytes.count == 4 || bytes.count == 16, unsafe inet_ntop(family, bytes, &text, 64) != nil else {
            return "an unreadable address"
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns a text like `CN=x, O=y`.
    private static func text(of name: OpaquePointer?) -> String {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { return "unknown" }
        defer { unsafe BIO_free(bio) }
        unsafe tls_print_name(bio, name)
        var bytes: UnsafeMutablePointer<CChar>?
        let count = unsafe tls_memory_contents(bio, &bytes)
        let text = unsafe UnsafeRawBufferPointer(start: bytes, count: max(0, count))
        return unsafe printableText(from: Array(text.prefix(textBytesMax)))
    }

    /// Returns the text with a question mark for each control character.
    private static func printableText(from bytes: [UInt8]) -> String {
        let printable = bytes.prefix(textBytesMax).map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0 }
        return String(decoding: printable, as: UTF8.self)
    }

    /// Returns a text like `2026-11-27`.
    static func dateText(from time: UnsafePointer<ASN1_TIME>?) -> String {
        var (year, month, day): (Int32, Int32, Int32) = (0, 0, 0)
        guard unsafe tls_date(time, &year, &month, &day) == 1 else { return "an unreadable date" }
        return "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)"
    }
}

private func noteName(
    _ context: UnsafeMutableRawPointer?, _ isAddress: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int32
) {
    guard let context = unsafe context, count >= 0 else { return }
    let collector = unsafe Unmanaged<CertificateProblem.NameCollector>.fromOpaque(context)
        .takeUnretainedValue()
    collector.add(
        unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count))), isAddress: isAddress != 0)
}
