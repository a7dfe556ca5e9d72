internal import COpenSSL
package import Cryptography
package import Telemetry

/// The authorities that a peer's certificate may come from.
package enum TLSTrust: Sendable {
    /// The machine's list of CAs.
    case system
    /// Only these CAs.
    case authorities(PEMSource)
}

/// The configuration that all TLS connections of one kind share: protocols, and either the trust or the own
/// certificate. It requires TLS 1.2 or newer, and a client always verifies its peer. No setting disables
/// that.
///
/// It owns an `SSL_CTX`. Threads may share it as long as none of them changes it (openssl-threads(7)), and
/// nothing changes it after a factory has returned it.
@safe package final class TLSContext: Sendable {
    package let protocols: [String]
    let isClient: Bool
    let acceptsPeersWithoutALPN: Bool
    nonisolated(unsafe) let reference: OpaquePointer
    /// Length-prefixed protocol names, in the wire format of ALPN.
    fileprivate let wireProtocols: [UInt8]

    private init(
        isClient: Bool, protocols: [String], acceptsPeersWithoutALPN: Bool = false
    ) throws(PEMError) {
        self.isClient = isClient
        self.acceptsPeersWithoutALPN = acceptsPeersWithoutALPN
        self.protocols = protocols
        wireProtocols = protocols.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8) }
        precondition(protocols.allSatisfy { (1...255).contains($0.utf8.count) }, "bad protocol name length")
        OpenSSLErrors.clear()
        guard let context = unsafe SSL_CTX_new(isClient ? TLS_client_method() : TLS_server_method()) else {
            throw PEMError("OpenSSL cannot be used: \(OpenSSLErrors.takeFirst().text)")
        }
        unsafe reference = context
        unsafe tls_context_at_least_1_2(context)
        unsafe tls_context_options(context)
        unsafe tls_context_forget_sessions(context)
        unsafe tls_context_read_ahead(context)
        // Sessions are never resumed, so a ticket would be sent with every handshake for nothing.
        unsafe SSL_CTX_set_num_tickets(context, 0)
        // Forward secrecy and authenticated encryption, which HTTP/2 requires of TLS 1.2.
        unsafe SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20")
    }

    deinit { unsafe SSL_CTX_free(reference) }

    package static func client(trust: TLSTrust = .system, protocols: [String] = ["h2"])
        throws(PEMError)
        -> TLSContext
    {
        let context = try TLSContext(isClient: true, protocols: protocols)
        unsafe SSL_CTX_set_verify(context.reference, SSL_VERIFY_PEER, nil)
        if !protocols.isEmpty {
            unsafe SSL_CTX_set_alpn_protos(
                context.reference, context.wireProtocols, UInt32(context.wireProtocols.count))
        }
        switch trust {
        case .system: unsafe SSL_CTX_set_default_verify_paths(context.reference)
        case .authorities(let source): try context.trustOnly(authoritiesFrom: source)
        }
        return context
    }

    /// - Parameters:
    /// - chain: the server's certificate, followed by its intermediate certificates.
    ///   - takesPeersWithoutALPN: accepts a peer that offers no protocol at all.
    ///   - time: the time at which the certificate must not be expired.
    package static func server(
        chain: PEMSource, key: PEMSource, protocols: [String] = ["h2"], acceptsPeersWithoutALPN: Bool = false,
        at time: WallTime = .now()
    ) throws(PEMError) -> TLSContext {
        let context = try TLSContext(
            isClient: false, protocols: protocols, acceptsPeersWithoutALPN: acceptsPeersWithoutALPN)
        let certificates = try PEM.certificates(from: chain)
        let key = (try PEM.privateKey(from: key, isPrivate: false), name: key.name)
        guard certificates[0].belongs(to: key.0) else {
            throw PEMError(
                "certificate \(chain.name) does not belong to key \(key.name): use the key that it was made with, "
                    + "and put the server's own certificate first")
        }
        guard !certificates[0].hasExpired(at: time) else {
            throw PEMError(
                "certificate \(chain.name) expired on \(certificates[0].validUntil): renew it")
        }
        try context.useCertificate(chain: certificates, key: key.0, name: chain.name)
        if !protocols.isEmpty {
            let owner = unsafe Unmanaged.passUnretained(context).toOpaque()
            unsafe SSL_CTX_set_alpn_select_cb(context.reference, chooseProtocol, owner)
        }
        return context
    }

    private func trustOnly(authoritiesFrom source: PEMSource) throws(PEMError) {
        let store = unsafe SSL_CTX_get_cert_store(reference)
        for certificate in try PEM.certificates(from: source) {
            unsafe X509_STORE_add_cert(store, certificate.pointer)
        }
    }

    private func useCertificate(chain: [Certificate], key: KeyPair, name: String) throws(PEMError) {
        OpenSSLErrors.clear()
        var isGood = unsafe SSL_CTX_use_certificate(reference, chain[0].pointer) == 1
        for certificate in chain.dropFirst() {
            isGood = unsafe isGood && tls_context_add_chain(reference, certificate.pointer) == 1
        }
        isGood = unsafe isGood && SSL_CTX_use_PrivateKey(reference, key.pointer) == 1
        guard isGood else {
            throw PEMError("certificate \(name) cannot be used: \(OpenSSLErrors.takeFirst().text)")
        }
    }

    /// Returns the first of this side's protocols that the peer offers too, as a range of the offer, which
    /// OpenSSL retains.
    fileprivate func selectProtocol(from offer: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        for wanted in protocols {
            var index = 0
            while index < offer.count {
                let name = unsafe index + 1..<min(offer.count, index + 1 + Int(offer[index]))
                if unsafe offer[name].elementsEqual(wanted.utf8) { return name }
                index = name.upperBound
            }
        }
        return nil
    }
}

/// Selects the protocol. The context is alive, because each of its sessions retains it.
private func chooseProtocol(
    _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offer: UnsafePointer<UInt8>?, _ offerCount: UInt32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context, let offer = unsafe offer else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let owner = unsafe Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue()
    let offered = unsafe UnsafeBufferPointer(start: offer, count: Int(offerCount))
    guard let name = unsafe owner.selectProtocol(from: offered) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    unsafe chosen?.pointee = offer + name.lowerBound
    unsafe chosenCount?.pointee = UInt8(name.count)
    return SSL_TLSEXT_ERR_OK
}
