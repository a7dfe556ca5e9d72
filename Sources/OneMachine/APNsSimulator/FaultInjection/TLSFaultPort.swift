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

    /// Starts listening.
    init(
        _ fault: TLSFault, host: String, port: Int, authority: CertificateAuthority, names: [String],
        on loop: EventLoop
    ) throws {
        self.fault = fault
        let context = try fault.context(authority: authority, names: names, at: .now())
        listener = try TCPListener(
            host: host, port: port, on: [loop], connectionsMax: Self.connectionsMax
        ) { tcp in
            // `TLSFault.context` returns no context for `oldTLS`.
            guard let context else { return OldTLSServer(tcp) }
            return TLSConnection.accept(tcp, context: context) { ClosingServer($0) }
        }
    }

    /// Do not call on a loop.
    func stop() { listener.stop() }
}

/// The server for a client that completed the handshake in spite of the fault: it closes at the first byte.
private final class ClosingServer: TLSConnectionDelegate {
    private let connection: TLSConnection

    init(_ connection: TLSConnection) { self.connection = connection }

    func didEstablish(applicationProtocol: String) {}
    func didReceive(_ plaintext: UnsafeRawBufferPointer) { connection.close() }
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int { 0 }
    func didClose(reason: TLSCloseReason) {}
}

/// A server that answers any bytes, normally a client hello, with a server hello in TLS 1.1. Current clients
/// reject it.
private final class OldTLSServer: TCPConnectionDelegate {
    /// The version TLS 1.1 on the wire.
    private static let version: [UInt8] = [3, 2]
    /// The length of the random value in a server hello.
    private static let randomByteCount = 32

    private let connection: TCPConnection

    init(_ connection: TCPConnection) { self.connection = connection }

    func didReceive(_ bytes: UnsafeRawBufferPointer) {
        connection.send(Self.serverHello)
        connection.finish()
    }

    func didBecomeWritable() {}
    func didClose(reason: TCPCloseReason) {}

    /// A TLS record with one handshake message, a server hello (RFC 4346).
    private static var serverHello: [UInt8] {
        let noSessionID: [UInt8] = [0]
        let ecdheRSAWithAES128: [UInt8] = [0xC0, 0x13]
        let noCompression: [UInt8] = [0]
        // The list of extensions has 5 bytes: renegotiation_info with an empty value.
        let extensions: [UInt8] = [0, 5, 0xFF, 1, 0, 1, 0]
        let body =
            version + Random.bytes(count: randomByteCount) + noSessionID + ecdheRSAWithAES128 + noCompression
            + extensions
        // Message type server_hello and a length of three bytes.
        let handshake: [UInt8] = [2, 0, 0, UInt8(body.count)] + body
        // Content type handshake, version, and a length of two bytes.
        return [0x16] + version + [0, UInt8(handshake.count)] + handshake
    }
}
