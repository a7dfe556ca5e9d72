internal import COpenSSL
package import Cryptography
package import Telemetry

/// The certificate authorities (CAs) that may have issued a peer's certificate.
package enum TLSTrust: Sendable {
    /// The CAs that the machine trusts.
    case system
    /// Only these CAs.
    case authorities(PEMSource)
}

/// The configuration that several TLS connections share: the protocols (ALPN), and either the trusted CAs of
/// a client or the certificate of a server. It requires TLS 1.2 or newer, and a client always verifies its
/// peer. No setting disables that.
///
/// It owns an OpenSSL context (`SSL_CTX`). Threads may share an `SSL_CTX` that no thread changes
/// (openssl-threads(7)), and nothing changes it after `client` or `server` has returned.
@safe package final class TLSContext: Sendable {
    /// The names for ALPN, such as `h2`, in the order of preference. Empty disables ALPN.
    package let protocols: [String]
    let isClient: Bool
    let acceptsPeersWithoutALPN: Bool
    nonisolated(unsafe) let sslContext: OpaquePointer
    /// The protocol names in the wire format of ALPN: for each its length in one byte, then the name.
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
        unsafe sslContext = context
        unsafe tls_context_at_least_1_2(context)
        unsafe tls_context_options(context)
        unsafe tls_context_forget_sessions(context)
        unsafe tls_context_read_ahead(context)
        // Sessions are never resumed, so tickets would cost time in each handshake without a use.
        unsafe SSL_CTX_set_num_tickets(context, 0)
        // Forward secrecy and authenticated encryption, which HTTP/2 requires of TLS 1.2.
        unsafe SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20")
    }

    deinit { unsafe SSL_CTX_free(sslContext) }

    /// Makes the configuration of a client.
    package static func client(trust: TLSTrust = .system, protocols: [String] = ["h2"])
        throws(PEMError)
        -> TLSContext
    {
        let context = try TLSContext(isClient: true, protocols: protocols)
        unsafe SSL_CTX_set_verify(context.sslContext, SSL_VERIFY_PEER, nil)
        if !protocols.isEmpty {
            unsafe SSL_CTX_set_alpn_protos(
                context.sslContext, context.wireProtocols, UInt32(context.wireProtocols.count))
        }
        switch trust {
        case .system: unsafe SSL_CTX_set_default_verify_paths(context.sslContext)
        case .authorities(let source): try context.trustOnly(authoritiesFrom: source)
        }
        return context
    }

    /// Makes the configuration of a server.
    ///
    /// - Parameters:
    ///   - chain: The server's certificate, followed by the intermediate certificates.
    ///   - acceptsPeersWithoutALPN: Whether to accept a client that offers no protocol at all.
    ///   - time: The time at which the certificate must not have expired.
    package static func server(
        chain: PEMSource, key: PEMSource, protocols: [String] = ["h2"], acceptsPeersWithoutALPN: Bool = false,
        at time: WallTime = .now()
    ) throws(PEMError) -> TLSContext {
        let context = try TLSContext(
            isClient: false, protocols: protocols, acceptsPeersWithoutALPN: acceptsPeersWithoutALPN)
        let certificates = try PEM.certificates(from: chain)
        let privateKey = try PEM.privateKey(from: key)
        guard certificates[0].belongs(to: privateKey) else {
            throw PEMError(
                "certificate \(chain.name) does not belong to key \(key.name): use the key that it was made with, "
                    + "and put the server's own certificate first")
        }
        guard !certificates[0].hasExpired(at: time) else {
            throw PEMError(
                "certificate \(chain.name) expired on \(certificates[0].validUntil): renew it")
        }
        try context.useCertificate(chain: certificates, key: privateKey, name: chain.name)
        if !protocols.isEmpty {
            let owner = unsafe Unmanaged.passUnretained(context).toOpaque()
            unsafe SSL_CTX_set_alpn_select_cb(context.sslContext, chooseProtocol, owner)
        }
        return context
    }

    private func trustOnly(authoritiesFrom source: PEMSource) throws(PEMError) {
        let store = unsafe SSL_CTX_get_cert_store(sslContext)
        for certificate in try PEM.certificates(from: source) {
            unsafe X509_STORE_add_cert(store, certificate.pointer)
        }
    }

    private func useCertificate(chain: [Certificate], key: KeyPair, name: String) throws(PEMError) {
        OpenSSLErrors.clear()
        var isUsable = unsafe SSL_CTX_use_certificate(sslContext, chain[0].pointer) == 1
        for certificate in chain.dropFirst() {
            isUsable = unsafe isUsable && tls_context_add_chain(sslContext, certificate.pointer) == 1
        }
        isUsable = unsafe isUsable && SSL_CTX_use_PrivateKey(sslContext, key.pointer) == 1
        guard isUsable else {
            throw PEMError("certificate \(name) cannot be used: \(OpenSSLErrors.takeFirst().text)")
        }
    }

    /// Returns the first of this side's protocols that the client offers too, as a range of the offer. The
    /// offer has the wire format of ALPN.
    fileprivate func selectProtocol(from offer: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        for supported in protocols {
            var lengthIndex = 0
            while lengthIndex < offer.count {
                let nameStart = lengthIndex + 1
                let name = unsafe nameStart..<min(offer.count, nameStart + Int(offer[lengthIndex]))
                if unsafe offer[name].elementsEqual(supported.utf8) { return name }
                lengthIndex = name.upperBound
            }
        }
        return nil
    }
}

/// OpenSSL's callback that selects the protocol. The result points into the offer. The `TLSContext` is alive,
/// because each of its sessions retains it.
private func chooseProtocol(
    _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offer: UnsafePointer<UInt8>?, _ offerCount: UInt32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context, let offer = unsafe offer else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let owner = unsafe Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue()
    let offeredNames = unsafe UnsafeBufferPointer(start: offer, count: Int(offerCount))
    guard let name = unsafe owner.selectProtocol(from: offeredNames) else {
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
    unsafe chosen?.pointee = offer + name.lowerBound
    unsafe chosenCount?.pointee = UInt8(name.count)
    return SSL_TLSEXT_ERR_OK
}
