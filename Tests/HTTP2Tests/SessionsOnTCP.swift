import Lifecycle
import Synchronization

@testable import HTTP2

/// A client session on a TCP connection: sends `total` requests as fast as the server lets it and
/// gathers how they ended. `@unchecked Sendable`: all but `ended` is touched on the loop only.
final class ClientOnTCP: TCPConnectionDelegate, @unchecked Sendable {
    struct Answer: Sendable {
        var outcome: RequestOutcome
        var body: String
    }

    let session = ClientSession(keeping: ["server"])
    private var connection: TCPConnection?
    private let total: Int
    private let submit: (ClientSession, Int) -> Void
    private var sent = 0
    private let answers = Mutex<[Answer]>([])
    private let reason = Mutex<String?>(nil)

    init(_ total: Int, _ submit: @escaping (ClientSession, Int) -> Void) {
        self.total = total
        self.submit = submit
    }

    var ended: [Answer] { answers.withLock { $0 } }
    var closeReason: String? { reason.withLock { $0 } }

    func connect(port: Int, on loop: EventLoop) {
        loop.execute {
            let deadline = loop.now.advanced(byMilliseconds: 10_000)
            self.connection = TCPConnection.connect(
                host: "127.0.0.1", port: port, on: loop, deadline: deadline, delegate: self)
        }
    }

    func connected() { work() }

    func received(_ bytes: UnsafeRawBufferPointer) {
        session.receive(bytes)
        work()
    }

    func writable() { work() }

    func closed(_ reason: TCPCloseReason) {
        session.end()
        collect()
        self.reason.withLock { $0 = "\(reason)" }
        connection = nil
    }

    private func work() {
        collect()
        while sent < total, session.room > 0 {
            submit(session, sent)
            sent += 1
        }
        var hasRoom = true
        while hasRoom, session.wantsToSend {
            hasRoom = connection?.send(upTo: 65_536) { session.pull(into: $0) } ?? false
        }
        if session.isOver { connection?.finish() }
    }

    private func collect() {
        let batch = session.outcomes
        guard !batch.outcomes.isEmpty else { return }
        answers.withLock { answers in
            for outcome in batch.outcomes {
                answers.append(
                    Answer(outcome: outcome, body: String(decoding: batch.body(of: outcome), as: UTF8.self)))
            }
        }
        session.clearOutcomes()
    }
}

/// A server session on a TCP connection: gives every path a status and a body.
final class ServerOnTCP: TCPConnectionDelegate {
    private let session = ServerSession()
    private let connection: TCPConnection
    private let answer: (RequestBatch, IncomingRequest, ServerSession) -> Void

    init(
        _ connection: TCPConnection,
        _ answer: @escaping (RequestBatch, IncomingRequest, ServerSession) -> Void
    ) {
        self.connection = connection
        self.answer = answer
        work()
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        session.receive(bytes)
        work()
    }

    func writable() { work() }
    func closed(_ reason: TCPCloseReason) { session.end() }

    private func work() {
        let batch = session.requests
        for request in batch.requests { answer(batch, request, session) }
        session.clearRequests()
        var hasRoom = true
        while hasRoom, session.wantsToSend {
            hasRoom = connection.send(upTo: 65_536) { session.pull(into: $0) }
        }
        if session.isOver { connection.finish() }
    }
}
