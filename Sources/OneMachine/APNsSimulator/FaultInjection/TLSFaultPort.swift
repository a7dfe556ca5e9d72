internal import Cryptography
internal import Lifecycle
internal import TLS
internal import Telemetry

/// A port on which every handshake has one fault. A client that completes the handshake anyway is
/// disconnected at its first byte, because nothing is served here.
final class TLSFaultPort: Sendable {
    static let connectionsMax = 1_000

    let fault: TLSFault
    private let listener: TCPListener

    var port: Int { listener.port }

    init(
        _ fault: TLSFault, host: String, port: Int, authority: CertificateAuthority, names: [String],
        on loop: EventLoop
    ) throws {
        self.fault = fault
        let context = try fault.context(authority: authority, names: names, at: .now())
        listener = try TCPListener(
            host: host, port: port, on: [loop], connectionsMax: Self.connectionsMax
        ) { tcp in
            guard let context else { return OldTLSPeer(tcp) }
            return TLSConnection.accept(tcp, context: context) { FaultyPeer($0) }
        }
    }

    /// Do not call on a loop.
    func stop() { listener.stop() }
}

/// A client that accepted the fault.
private final class FaultyPeer: TLSConnectionDelegate {
    private let connection: TLSConnection

    init(_ connection: TLSConnection) { self.connection = connection }

    func didEstablish(applicationProtocol: String) {}
    func didReceive(_ plaintext: UnsafeRawBufferPointer) { connection.close() }
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int { 0 }
    func didClose(reason: TLSCloseReason) {}
}

/// Answers a client hello with a server hello in TLS 1.1, which current clients reject.
private final class OldTLSPeer: TCPConnectionDelegate {
    private static let version: [UInt8] = [3, 2]
    private static let randomBytes = 32

    private let connection: TCPConnection

    init(_ connection: TCPConnection) { self.connection = connection }

    func didReceive(_ bytes: UnsafeRawBufferPointer) {
        connection.send(Self.hello)
        connection.finish()
    }

    func didBecomeWritable() {}
    func didClose(reason: TCPCloseReason) {}

    private static var hello: [UInt8] {
        // The hello has no session, ECDHE-RSA with AES-128-CBC, no compression, and secure renegotiation.
        let body = version + Random.bytes(count: randomBytes) + [0, 0xC0, 0x13, 0, 0, 5, 0xFF, 1, 0, 1, 0]
        let handshake = [2, 0, 0, UInt8(body.count)] + body
        return [0x16] + version + [0, UInt8(handshake.count)] + handshake
    }
}
