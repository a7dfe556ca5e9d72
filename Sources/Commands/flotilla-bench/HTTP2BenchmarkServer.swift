internal import Cryptography
internal import Glibc
internal import HTTP2
internal import Lifecycle
internal import TLS

/// A server process of the benchmark. It reads each push completely and answers 200 with its apns-id.
enum HTTP2BenchmarkServer {
    static func serve(certificate: String, key: String) throws {
        let context = try TLSContext.server(chain: .file(certificate), key: .file(key))
        let loop = try EventLoop(name: "bench")
        try loop.start()
        let listener = try TCPListener(host: "127.0.0.1", port: 0, on: [loop], connectionsMax: 1_000) { tcp in
            TLSConnection.accept(tcp, context: context) { HTTP2BenchmarkServerConnection(connection: $0) }
        }
        // The use of the listener keeps it alive until a signal ends the process.
        while listener.connectionsMax > 0 { pause() }
    }
}

private final class HTTP2BenchmarkServerConnection: TLSConnectionDelegate {
    private let session = ServerSession()
    private let connection: TLSConnection
    private let template: ResponseTemplate?

    init(connection: TLSConnection) {
        self.connection = connection
        template = try? ResponseTemplate(status: 200, varying: "apns-id")
    }

    func didEstablish(applicationProtocol: String) {}

    func didReceive(_ plaintext: UnsafeRawBufferPointer) {
        unsafe session.receive(plaintext)
        guard let template else { return connection.close() }
        let batch = session.requests
        for request in batch.requests {
            let id = batch.value(named: "apns-id", of: request) ?? 0..<0
            session.respond(to: request.stream, template: template, varying: batch.bytes.span.extracting(id))
        }
        session.clearRequests()
        if session.isFinished { connection.finish() }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int { unsafe session.pull(into: buffer) }
    func didClose(reason: TLSCloseReason) { session.end() }
}
