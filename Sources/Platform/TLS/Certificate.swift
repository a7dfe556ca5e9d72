internal import COpenSSL
internal import Cryptography
internal import Telemetry

/// An X.509 certificate. It owns an OpenSSL `X509`, which nothing changes after its creation, so threads may
/// share it.
@safe final class Certificate: Sendable {
    nonisolated(unsafe) let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe X509_free(pointer) }

    var pem: String { unsafe PEM.text { unsafe PEM_write_bio_X509($0, pointer) } }

    func hasExpired(at time: WallTime) -> Bool {
        var seconds = time_t(time.seconds)
        return unsafe X509_cmp_time(X509_get0_notAfter(pointer), &seconds) < 0
    }

    /// The last day, such as `2026-11-27`.
    var validUntil: String { unsafe CertificateProblem.dateText(from: X509_get0_notAfter(pointer)) }

    /// Whether the certificate is for the public key of this private key.
    func belongs(to key: KeyPair) -> Bool {
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        return unsafe X509_check_private_key(pointer, key.pointer) == 1
    }
}
