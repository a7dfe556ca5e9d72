internal import COpenSSL
internal import Glibc

/// The first problem that OpenSSL's verification found, recorded while the certificate is available.
struct CertificateProblem {
    private let code: Int32
    private let names: [String]
    private let issuer: String
    private let validFrom: String
    private let validUntil: String
    private static let namesMax = 4

    /// Records the problem. The store is borrowed for the duration of the callback.
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

    fileprivate final class NameCollector {
        private(set) var list: [String] = []

        func add(_ bytes: [UInt8], isAddress: Bool) {
            guard list.count < CertificateProblem.namesMax else { return }
            list.append(isAddress ? addressText(from: bytes) : printableText(from: bytes))
        }
    }

    static func names(of certificate: OpaquePointer) -> [String] {
        let names = NameCollector()
        unsafe tls_each_name(certificate, Unmanaged.passUnretained(names).toOpaque(), noteName)
        return names.list.isEmpty ? [unsafe text(of: X509_get_subject_name(certificate))] : names.list
    }

    private static func addressText(from bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: 64)
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard bytes.count == 4 || bytes.count == 16, unsafe inet_ntop(family, bytes, &text, 64) != nil else {
            return "an unreadable address"
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns a text like `CN=x, O=y`. Its length is limited, because it comes from the peer and appears in
    /// a log line.
    private static func text(of name: OpaquePointer?) -> String {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { return "unknown" }
        defer { unsafe BIO_free(bio) }
        unsafe tls_print_name(bio, name)
        var bytes: UnsafeMutablePointer<CChar>?
        let count = unsafe tls_memory_contents(bio, &bytes)
        let text = unsafe UnsafeRawBufferPointer(start: bytes, count: max(0, count))
        return unsafe printableText(from: Array(text.prefix(200)))
    }

    private static func printableText(from bytes: [UInt8]) -> String {
        String(decoding: bytes.prefix(200).map { $0 < 0x20 || $0 == 0x7F ? 0x3F : $0 }, as: UTF8.self)
    }

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
    let names = unsafe Unmanaged<CertificateProblem.NameCollector>.fromOpaque(context).takeUnretainedValue()
    names.add(unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count))), isAddress: isAddress != 0)
}
