internal import COpenSSL
internal import Cryptography

/// The result of processing ciphertext.
@safe package enum TLSEvent {
    /// All input is used up.
    case needsInput
    /// The peer is verified and speaks this protocol, which is empty without ALPN.
    case established(protocol: String)
    /// Plaintext that is valid until `dropPlaintext`. No other session of the thread can decrypt before that.
    case plaintext(UnsafeRawBufferPointer)
    /// The peer has sent its close alert.
    case ended
    case failed(TLSFailure)
}

/// One TLS connection without a socket: ciphertext in, plaintext out, and the reverse. Output for the peer
/// collects in `outgoing`, which the caller sends and drops after every call.
///
/// It owns an `SSL` and is confined to one thread: not Sendable. It neither returns nor accepts plaintext
/// before the peer's certificate and protocol are verified.
@safe package final class TLSSession {
    private enum SessionPhase {
        case handshaking
        case open
        /// The peer has sent its close alert, and `ended` is not reported yet.
        case ending
        case ended
        case failed(TLSFailure)
    }

    let scratch: TLSScratchBuffers
    private let context: TLSContext
    private let peer: String
    private let ssl: OpaquePointer
    private var input: UnsafeRawBufferPointer
    private var phase = SessionPhase.handshaking
    private var hasSeenBytes = false
    private var problem: CertificateProblem?
    private var isShutDown = false

    /// - Parameters:
    /// - host: the name or address that the certificate must be for. Nil on the server's side.
    ///   - peer: the name of the other side in messages.
    package init(context: TLSContext, host: String?, peer: String, scratch: TLSScratchBuffers) {
        self.context = context
        self.peer = peer
        self.scratch = scratch
        unsafe input = UnsafeRawBufferPointer(start: nil, count: 0)
        // These calls fail only if memory is exhausted, like any allocation.
        guard let ssl = unsafe SSL_new(context.reference) else { preconditionFailure("out of memory") }
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

    /// Sends the host name to the server and requires a certificate for it.
    private func verifyHost(_ host: String) {
        let parameters = unsafe SSL_get0_param(ssl)
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, host) != 1 {
            unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            let isSet = unsafe SSL_set1_host(ssl, host) == 1 && tls_set_server_name(ssl, host) == 1
            // If OpenSSL rejects the name, the session must fail. Otherwise any certificate would pass.
            if !isSet { phase = .failed(.handshake(peer: peer, reason: "\(host) is not a host name")) }
        }
        unsafe tls_verify_peer(ssl, noteProblem)
    }

    // MARK: In

    /// Lends ciphertext from the peer to the session, until `next` has returned `needsInput`.
    package func provideInput(_ ciphertext: UnsafeRawBufferPointer) {
        precondition(unsafe input.isEmpty, "new input was lent before the last was used up")
        unsafe input = ciphertext
        guard !hasSeenBytes, let first = unsafe ciphertext.first else { return }
        hasSeenBytes = true
        // A handshake record, or an alert in response to ours, in any version.
        if first != 0x16 && first != 0x15 { phase = .failed(.plainText(peer: peer)) }
    }

    /// Ciphertext for the peer.
    package var outgoing: UnsafeRawBufferPointer { unsafe scratch.outgoing(of: self) }

    package func dropOutgoing() { scratch.dropOutgoing(of: self) }

    /// Ends the loan of the plaintext that `next` returned. Its caller has used the plaintext.
    package func dropPlaintext() { scratch.endPlaintext(of: self) }

    func copyInput(to target: UnsafeMutableRawBufferPointer) -> Int {
        let count = unsafe min(target.count, input.count)
        guard count > 0 else { return 0 }
        unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
        unsafe input = UnsafeRawBufferPointer(rebasing: input[count...])
        return count
    }

    /// Processes input and returns the next event. A client also begins with this call, which writes its
    /// hello.
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
        let isUnnamed = chosen.isEmpty && context.acceptsPeersWithoutALPN
        guard context.protocols.isEmpty || context.protocols.contains(chosen) || isUnnamed else {
            return fail(with: .noCommonProtocol(peer: peer, offered: context.protocols))
        }
        phase = .open
        return .established(protocol: chosen)
    }

    /// Decrypts all available records, so that the layer above is called once for many.
    private func decrypt() -> TLSEvent {
        var count = 0
        let plaintext = unsafe scratch.lendPlaintext(to: self)
        OpenSSLErrors.clear()
        while plaintext.count - count >= TLSScratchBuffers.recordBytes {
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: plaintext[count...])
            let read = unsafe SSL_read(ssl, target.baseAddress, Int32(clamping: target.count))
            if read > 0 {
                count += Int(read)
                continue
            }
            switch unsafe SSL_get_error(ssl, read) {
            case SSL_ERROR_WANT_READ: break
            case SSL_ERROR_ZERO_RETURN: phase = .ending
            default: phase = .failed(.brokenRecord(peer: peer, reason: OpenSSLErrors.takeFirst().text))
            }
            break
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

    /// Encrypts at most `TLSScratchBuffers.recordBytes`, so that each call makes one record.
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

/// Records the first problem of the session that verifies. It does not change the verdict.
private func noteProblem(_ isGood: Int32, _ store: OpaquePointer?) -> Int32 {
    guard isGood == 0, let store = unsafe store, let owner = unsafe tls_owner_of_store(store) else {
        return isGood
    }
    unsafe Unmanaged<TLSSession>.fromOpaque(owner).takeUnretainedValue().recordProblem(from: store)
    return isGood
}
