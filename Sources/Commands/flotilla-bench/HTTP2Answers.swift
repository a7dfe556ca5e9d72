internal import Cryptography
internal import Glibc
internal import HTTP2
internal import Lifecycle
internal import TLS

/// A server process of the benchmark. It reads each push completely and answers 200 with its apns-id.
enum HTTP2Answers {
    static func serve(certificate: String, key: String) throws {
        let context = try TLSContext.server(chain: .file(certificate), key: .file(key))
        let loop = try EventLoop(name: "bench")
        try loop.start()
        let listener = try Listener(host: "127.0.0.1", port: 0, on: [loop], connectionsMax: 1_000) { tcp in
            TLSConnection.accept(tcp, context) { HTTP2AnswersConnection($0) }
        }
        while listener.connectionsMax > 0 { pause() }
    }
}

private final class HTTP2AnswersConnection: TLSConnectionDelegate {
    private let session = ServerSession()
    private let connection: TLSConnection
    private let template: AnswerTemplate?

    init(_ connection: TLSConnection) {
        self.connection = connection
        template = try? AnswerTemplate(status: 200, varying: "apns-id")
    }

    func established(applicationProtocol: String) {}

    func received(_ plaintext: UnsafeRawBufferPointer) {
        unsafe session.receive(plaintext)
        guard let template else { return connection.close() }
        let batch = session.requests
        for request in batch.requests {
            let id = batch.value("apns-id", of: request) ?? 0..<0
            session.answer(request.stream, template, varying: batch.bytes.span.extracting(id))
        }
        session.clearRequests()
        if session.isOver { connection.finish() }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int { unsafe session.pull(into: buffer) }
    func closed(_ reason: TLSCloseReason) { session.end() }
}
