import JSON
import Lifecycle
import ProcessTesting
import Synchronization
import TLS

@testable import HTTP2

/// The outcome of one request. The status is 0 if no answer came.
struct TestAnswer: Sendable {
    var end: RequestOutcome.EndReason
    var status: Int
    /// The code of a reset.
    var code: HTTP2ErrorCode
    var headers: [String: String]
    var body: String

    var reason: String? { field("reason") }
    /// The time at which a token ceased to be valid, in milliseconds since 1970.
    var timestamp: Int64? {
        body.split(separator: "\"timestamp\":").dropFirst().first.flatMap { Int64($0.prefix { $0.isNumber }) }
    }

    private func field(_ name: String) -> String? {
        body.split(separator: "\"\(name)\":\"").dropFirst().first.map { String($0.prefix { $0 != "\"" }) }
    }
}

/// A client connection that sends given requests, as many at a time as the peer allows.
///
/// `@unchecked Sendable`: everything but `state` and `heldConnection` is used on the loop only.
final class PushClient: TLSConnectionDelegate, @unchecked Sendable {
    /// The events of the connection, which tests read on other threads.
    private struct State {
        var goaway: Goaway?
        var streamsMax: [Int] = []
        var closeReason: String?
    }

    private let loop: EventLoop
    private let session = ClientSession(keeping: [
        "apns-id", "apns-unique-id", "apns-request-id", "apns-channel-id", "retry-after",
    ])
    private let heldConnection = TracedLock<TLSConnection?>(nil)
    private var connection: TLSConnection? { heldConnection.withLock { $0 } }
    /// Requests that have no stream.
    private var waiting: [(TestRequest, CheckedContinuation<TestAnswer, Never>)] = []
    /// The requests that were sent, by their tags.
    private var open: [UInt64: CheckedContinuation<TestAnswer, Never>] = [:]
    private var lastTag: UInt64 = 0
    private let state = Mutex(State())

    init(port: Int, trust: TLSContext, on loop: EventLoop) {
        self.loop = loop
        loop.execute {
            let connection = TLSConnection.connect(
                context: trust, host: "127.0.0.1", port: port, on: loop,
                deadline: loop.now.advanced(byMilliseconds: 30_000), delegate: self)
            self.heldConnection.withLock { $0 = connection }
        }
    }

    deinit { loop.execute { [heldConnection] in heldConnection.withLock { $0 }?.close() } }

    var goaway: Goaway? { state.withLock { $0.goaway } }
    /// Every stream limit that the peer announced.
    var streamsMax: [Int] { state.withLock { $0.streamsMax } }
    var closeReason: String? { state.withLock { $0.closeReason } }

    /// Sends a request, and waits for its end.
    func send(_ request: TestRequest) async -> TestAnswer {
        await withCheckedContinuation { continuation in
            loop.execute {
                self.waiting.append((request, continuation))
                self.submit()
            }
        }
    }

    func close() { loop.execute { self.connection?.close() } }

    /// Sends as many waiting requests as the session takes. Ends them if the connection is over.
    private func submit() {
        while !waiting.isEmpty, session.availableRequests > 0 {
            let (request, continuation) = waiting.removeFirst()
            lastTag += 1
            open[lastTag] = continuation
            do {
                let template = try RequestTemplate(
                    method: request.method, authority: "api.push.apple.com",
                    headers: request.headers.map { HeaderField(name: $0.0, value: $0.1) })
                let body = Array(request.body.utf8)
                session.submit(
                    template: template, path: Array(request.path.utf8).span,
                    body: body.isEmpty ? nil : SharedBody(copying: body.span), tag: lastTag)
            } catch {
                preconditionFailure("\(error)")
            }
        }
        connection?.requestFill()
        let isOver = state.withLock { $0.closeReason != nil } || session.acceptsRequests == false
        guard isOver else { return }
        for (_, continuation) in waiting {
            continuation.resume(
                returning: TestAnswer(end: .notProcessed, status: 0, code: .noError, headers: [:], body: ""))
        }
        waiting.removeAll()
    }

    /// Passes the outcomes and events of the session on.
    private func takeOutcomes() {
        let batch = session.outcomes
        for outcome in batch.outcomes {
            var headers: [String: String] = [:]
            for field in batch.fields(of: outcome) {
                headers[String(decoding: field.name, as: UTF8.self)] = String(
                    decoding: field.value, as: UTF8.self)
            }
            open.removeValue(forKey: outcome.tag)?.resume(
                returning: TestAnswer(
                    end: outcome.endReason, status: Int(outcome.status), code: outcome.code, headers: headers,
                    body: String(decoding: batch.body(of: outcome), as: UTF8.self)))
        }
        session.clearOutcomes()
        let events = session.takeEvents()
        state.withLock { state in
            if let goaway = events.goaway { state.goaway = goaway }
            if let settings = events.settings { state.streamsMax.append(Int(settings.concurrentStreamsMax)) }
        }
        submit()
    }

    func didEstablish(applicationProtocol: String) { submit() }

    func didReceive(_ plaintext: UnsafeRawBufferPointer) {
        session.receive(plaintext)
        takeOutcomes()
        if session.isFinished { connection?.finish() }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int { session.pull(into: buffer) }

    func didClose(reason: TLSCloseReason) {
        session.end()
        state.withLock { $0.closeReason = "\(reason)" }
        takeOutcomes()
    }
}
