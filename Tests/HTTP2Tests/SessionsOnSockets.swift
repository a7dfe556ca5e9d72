import Lifecycle
import Synchronization
import TLS

@testable import HTTP2

/// A client session on TLS or plain TCP. It submits `requestCount` requests as fast as the server allows, and collects
/// the outcomes.
///
/// `@unchecked Sendable`: everything but `collected` and `reason` is used on the loop only.
final class ClientOnSocket: TCPConnectionDelegate, TLSConnectionDelegate, @unchecked Sendable {
    struct EndedRequest: Sendable {
        var outcome: RequestOutcome
        var body: String
    }

    let session = ClientSession(keeping: ["server"])
    private var connection: TCPConnection?
    private var secure: TLSConnection?
    private let requestCount: Int
    private let submit: (ClientSession, Int) -> Void
    private var submittedCount = 0
    private let collected = Mutex<[EndedRequest]>([])
    private let reason = Mutex<String?>(nil)

    init(requestCount: Int, submit: @escaping (ClientSession, Int) -> Void) {
        self.requestCount = requestCount
        self.submit = submit
    }

    var ended: [EndedRequest] { collected.withLock { $0 } }
    var closeReason: String? { reason.withLock { $0 } }

    func connect(port: Int, on loop: EventLoop, tls: TLSContext? = nil) {
        loop.execute {
            let deadline = loop.now.advanced(byMilliseconds: 10_000)
            if let tls {
                self.secure = TLSConnection.connect(
                    context: tls, host: "127.0.0.1", port: port, on: loop, deadline: deadline, delegate: self)
                return
            }
            self.connection = TCPConnection.connect(
                host: "127.0.0.1", port: port, on: loop, deadline: deadline, delegate: self)
        }
    }

    func didConnect() { exchange() }
    func didEstablish(applicationProtocol: String) { exchange() }
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int { session.pull(into: buffer) }

    func didReceive(_ bytes: UnsafeRawBufferPointer) {
        session.receive(bytes)
        exchange()
    }

    func didBecomeWritable() { exchange() }

    func didClose(reason: TCPCloseReason) { end(because: "\(reason)") }
    func didClose(reason: TLSCloseReason) { end(because: "\(reason)") }

    private func end(because closeReason: String) {
        session.end()
        collect()
        reason.withLock { $0 = closeReason }
        connection = nil
        secure = nil
    }

    /// Collects outcomes, submits requests, and sends bytes. A TLS connection pulls its bytes by itself.
    private func exchange() {
        collect()
        while submittedCount < requestCount, session.availableRequests > 0 {
            submit(session, submittedCount)
            submittedCount += 1
        }
        var takesMore = secure == nil
        while takesMore, session.wantsToSend {
            takesMore = connection?.send(upTo: 65_536) { session.pull(into: $0) } ?? false
        }
        guard session.isFinished else { return }
        connection?.finish()
        secure?.finish()
    }

    private func collect() {
        let batch = session.outcomes
        guard !batch.outcomes.isEmpty else { return }
        collected.withLock { collected in
            for outcome in batch.outcomes {
                collected.append(
                    EndedRequest(
                        outcome: outcome, body: String(decoding: batch.body(of: outcome), as: UTF8.self)))
            }
        }
        session.clearOutcomes()
    }
}

/// A server session on TLS or plain TCP. It passes each request to a closure that answers it.
final class ServerOnSocket: TCPConnectionDelegate, TLSConnectionDelegate {
    private let session = ServerSession()
    private var connection: TCPConnection?
    private var secure: TLSConnection?
    private let answer: (RequestBatch, IncomingRequest, ServerSession) -> Void

    init(
        _ connection: TCPConnection? = nil, secure: TLSConnection? = nil,
        answer: @escaping (RequestBatch, IncomingRequest, ServerSession) -> Void
    ) {
        self.connection = connection
        self.secure = secure
        self.answer = answer
        exchange()
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer) {
        session.receive(bytes)
        exchange()
    }

    func didBecomeWritable() { exchange() }
    func didEstablish(applicationProtocol: String) {}
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int { session.pull(into: buffer) }
    func didClose(reason: TCPCloseReason) { end() }
    func didClose(reason: TLSCloseReason) { end() }

    private func end() {
        session.end()
        connection = nil
        secure = nil
    }

    /// Answers the requests that have arrived, and sends bytes. A TLS connection pulls its bytes by itself.
    private func exchange() {
        let batch = session.requests
        for request in batch.requests { answer(batch, request, session) }
        session.clearRequests()
        var takesMore = secure == nil
        while takesMore, session.wantsToSend {
            takesMore = connection?.send(upTo: 65_536) { session.pull(into: $0) } ?? false
        }
        guard session.isFinished else { return }
        connection?.finish()
        secure?.finish()
    }
}
