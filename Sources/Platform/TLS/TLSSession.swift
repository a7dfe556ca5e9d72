internal import COpenSSL
internal import Cryptography

/// An event of a TLS session, found in the peer's ciphertext.
@safe package enum TLSEvent {
    /// All input is used up.
    case needsInput
    /// The peer is verified and has agreed to this protocol, which is empty without ALPN.
    case established(protocol: String)
    /// Plaintext that is valid until `dropPlaintext`. No other session of the thread can decrypt before that.
    case plaintext(UnsafeRawBufferPointer)
    /// The peer has sent its close alert.
    case ended
    case failed(TLSFailure)
}

/// The TLS protocol of one connection, without a socket. It turns the peer's ciphertext into plaintext, and
/// plaintext into ciphertext for the peer (`outgoing`), which the caller sends and drops after every call.
///
/// It owns an OpenSSL `SSL` and is confined to one thread. It neither returns nor accepts plaintext before
/// the peer's certificate and protocol are verified.
@safe package final class TLSSession {
    private enum SessionPhase {
        case handshaking
        case open
        /// The peer has sent its close alert, and `ended` is not reported yet.
        case ending
        case ended
        case failed(TLSFailure)
    }

    /// The first byte of a record, of those that can come first.
    private enum RecordType {
        static let alert: UInt8 = 0x15
        static let handshake: UInt8 = 0x16
    }

    let scratch: TLSScratchBuffers
    private let context: TLSContext
    private let peer: String
    private let ssl: OpaquePointer
    /// The ciphertext from the peer that OpenSSL has not read yet.
    private var input: UnsafeRawBufferPointer
    private var phase = SessionPhase.handshaking
    private var hasSeenBytes = false
    /// The first problem of the peer's certificate.
    private var problem: CertificateProblem?
    /// Whether the own close alert was sent.
    private var isShutDown = false

    /// - Parameters:
    ///   - host: The name or address that the peer's certificate must be for. Nil on the server's side.
    ///   - peer: The name of the peer in messages.
    package init(context: TLSContext, host: String?, peer: String, scratch: TLSScratchBuffers) {
        self.context = context
        self.peer = peer
        self.scratch = scratch
        unsafe input = UnsafeRawBufferPointer(start: nil, count: 0)
        // These calls fail only if memory is exhausted, like any allocation.
        guard let ssl = unsafe SSL_new(context.sslContext) else { preconditionFailure("out of memory") }
        unsafe self.ssl = ssl
        guard let bio = unsafe SessionBIO.make(for: self) else { preconditionFailure("out of memory") }
        unsafe SSL_set_bio(ssl, bio, bio)
        unsafe tls_set_owner(ssl, Unmanaged.passUnretained(self).toOpaque())
        precondition(
            (host != nil) == context.isClient, "only a client context needs a host")
        if let host {
            verifyHost(host)
            unsafe SSL_set_connect_state(ssl)
        } else {
            unsafe SSL_set_accept_state(ssl)
        }
    }

    deinit { unsafe SSL_free(ssl) }

    /// Requires a certificate for this host, and sends a host name to the server.
    private func verifyHost(_ host: String) {
        let parameters = unsafe SSL_get0_param(ssl)
        // The first call fails if the host is not an address.
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, host) != 1 {
            unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            let isSet = unsafe SSL_set1_host(ssl, host) == 1 && tls_set_server_name(ssl, host) == 1
            // If OpenSSL rejects the name, the session must fail. Otherwise any certificate would pass.
            if !isSet { phase = .failed(.handshake(peer: peer, reason: "\(host) is not a host name")) }
        }
        unsafe tls_verify_peer(ssl, recordVerification)
    }

    // MARK: In

    /// Lends ciphertext from the peer to the session, until `nextEvent` has returned `needsInput`.
    package func provideInput(_ ciphertext: UnsafeRawBufferPointer) {
        precondition(unsafe input.isEmpty, "new input was lent before the last was used up")
        unsafe input = ciphertext
        guard !hasSeenBytes, let recordType = unsafe ciphertext.first else { return }
        hasSeenBytes = true
        let isTLS = recordType == RecordType.handshake || recordType == RecordType.alert
        if !isTLS { phase = .failed(.plainText(peer: peer)) }
    }

    /// The ciphertext to send to the peer.
    package var outgoing: UnsafeRawBufferPointer { unsafe scratch.outgoing(of: self) }

    /// Drops the ciphertext that was sent.
    package func dropOutgoing() { scratch.dropOutgoing(of: self) }

    /// Drops the plaintext that `nextEvent` returned and the caller has used.
    package func dropPlaintext() { scratch.endPlaintext(of: self) }

    /// Gives input to OpenSSL. Returns the number of bytes.
    func copyInput(to target: UnsafeMutableRawBufferPointer) -> Int {
        let count = unsafe min(target.count, input.count)
        guard count > 0 else { return 0 }
        unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
        unsafe input = UnsafeRawBufferPointer(rebasing: input[count...])
        return count
    }

    /// Processes input and returns the next event. Call it until it returns `needsInput`, or `failed`, which it then returns
    /// each time. The first call of a client writes the ClientHello.
    package func nextEvent() -> TLSEvent {
        switch phase {
        case .handshaking: handshake()
        case .open: decrypt()
        case .ending: reportEnd()
        case .ended: discardInput(returning: .needsInput)
        case .failed(let failure): discardInput(returning: .failed(failure))
        }
    }

    private func reportEnd() -> TLSEvent {
        phase = .ended
        return discardInput(returning: .ended)
    }

    /// Drops the remaining input, because data after the end has no meaning.
    private func discardInput(returning event: TLSEvent) -> TLSEvent {
        unsafe input = UnsafeRawBufferPointer(start: nil, count: 0)
        return event
    }

    private func handshake() -> TLSEvent {
        OpenSSLErrors.clear()
        let code = unsafe SSL_do_handshake(ssl)
        if code == 1 { return checkProtocol() }
        guard unsafe SSL_get_error(ssl, code) != SSL_ERROR_WANT_READ else { return .needsInput }
        return fail(with: handshakeFailure())
    }

    private func checkProtocol() -> TLSEvent {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &bytes, &count)
        let chosen = unsafe String(
            decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
        let isAcceptedWithoutALPN = chosen.isEmpty && context.acceptsPeersWithoutALPN
        guard context.protocols.isEmpty || context.protocols.contains(chosen) || isAcceptedWithoutALPN else {
            return fail(with: .noCommonProtocol(peer: peer, offered: context.protocols))
        }
        phase = .open
        return .established(protocol: chosen)
    }

    /// Decrypts the available records, as many as fit, so that the owner is called once for many. An end or a
    /// failure that follows them is the next event.
    private func decrypt() -> TLSEvent {
        var count = 0
        let plaintext = unsafe scratch.lendPlaintext(to: self)
        OpenSSLErrors.clear()
        var hasRecord = true
        while hasRecord, plaintext.count - count >= TLSScratchBuffers.recordBytes {
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: plaintext[count...])
            let read = unsafe SSL_read(ssl, target.baseAddress, Int32(clamping: target.count))
            hasRecord = read > 0
            if hasRecord {
                count += Int(read)
            } else {
                switch unsafe SSL_get_error(ssl, read) {
                case SSL_ERROR_WANT_READ: break
                case SSL_ERROR_ZERO_RETURN: phase = .ending
                default: phase = .failed(.brokenRecord(peer: peer, reason: OpenSSLErrors.takeFirst().text))
                }
            }
        }
        if count > 0 {
            return unsafe .plaintext(UnsafeRawBufferPointer(rebasing: plaintext[..<count]))
        }
        scratch.endPlaintext(of: self)
        switch phase {
        case .ending, .ended: return reportEnd()
        case .failed(let failure): return discardInput(returning: .failed(failure))
        case .handshaking, .open: return .needsInput
        }
    }

    // MARK: Out

    /// Encrypts at most `TLSScratchBuffers.recordBytes`, so that each call makes one record. Does nothing if the session is
    /// not open.
    package func encrypt(_ plaintext: UnsafeRawBufferPointer) throws(TLSFailure) {
        guard case .open = phase, unsafe !plaintext.isEmpty, !isShutDown else { return }
        precondition(
            plaintext.count <= TLSScratchBuffers.recordBytes, "the plaintext is longer than a record")
        OpenSSLErrors.clear()
        let written = unsafe SSL_write(ssl, plaintext.baseAddress, Int32(plaintext.count))
        guard written == plaintext.count else {
            let failure = TLSFailure.brokenRecord(peer: peer, reason: OpenSSLErrors.takeFirst().text)
            phase = .failed(failure)
            throw failure
        }
    }

    /// Sends the close alert. Data that the peer still sends is delivered.
    package func shutdown() {
        guard case .open = phase, !isShutDown else { return }
        isShutDown = true
        OpenSSLErrors.clear()
        unsafe SSL_shutdown(ssl)
    }

    // MARK: Failure

    fileprivate func recordProblem(from store: OpaquePointer) {
        if problem == nil { problem = unsafe CertificateProblem(store: store) }
    }

    private func fail(with failure: TLSFailure) -> TLSEvent {
        phase = .failed(failure)
        return discardInput(returning: .failed(failure))
    }

    private func handshakeFailure() -> TLSFailure {
        let (reason, text) = OpenSSLErrors.takeFirst()
        if let problem { return problem.failure(peer: peer) }
        switch reason {
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, SSL_R_VERSION_TOO_LOW:
            return .unsupportedVersion(peer: peer)
        case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, SSL_R_NO_APPLICATION_PROTOCOL:
            return .noCommonProtocol(peer: peer, offered: context.protocols)
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA, SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
            SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
            return .handshake(peer: peer, reason: "it does not trust our certificate (\(text))")
        default:
            return .handshake(peer: peer, reason: text)
        }
    }
}

/// OpenSSL's callback for each step of a verification. Records a problem, and does not change the result.
private func recordVerification(_ isValid: Int32, _ store: OpaquePointer?) -> Int32 {
    guard isValid == 0, let store = unsafe store, let owner = unsafe tls_owner_of_store(store) else {
        return isValid
    }
    unsafe Unmanaged<TLSSession>.fromOpaque(owner).takeUnretainedValue().recordProblem(from: store)
    return isValid
}
