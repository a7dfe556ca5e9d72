import Cryptography
import HTTP2
import Lifecycle
import Synchronization
import TLS

/// An APNs server for tests: TLS, HTTP/2, and a script, a closure that decides what to do with each request. A request
/// that the script ignores gets no answer. The server counts what it has received and accepted.
final class ScriptedServer: Sendable {
    typealias Script = @Sendable (ServedConnection, ServedRequest) -> Void

    /// The connections, requests and answers of the server.
    struct State {
        /// The number of accepted connections. They are numbered from 1.
        var connections = 0
        /// The open connections by number.
        var open: [Int: ServedConnection] = [:]
        /// Connections over which each push was answered with 200, one entry for each answer.
        var accepted: [UInt64: [Int]] = [:]
        var requests = 0
        var bearers: Set<String> = []
        var plaintextBytes = 0
    }

    let authority: CertificateAuthority
    private let running: RunningLoop
    private let listener: TCPListener
    private let state: TracedLock<State>

    var port: Int { listener.port }
    var loop: EventLoop { running.loop }

    /// Reads the state under its lock.
    func read<T>(_ body: (State) -> T) -> T { state.withLock { body($0) } }

    init(
        _ authority: CertificateAuthority = CertificateAuthority(name: "Test CA"), context: TLSContext? = nil,
        limits: ServerLimits = ServerLimits(), _ script: @escaping Script
    ) throws {
        self.authority = authority
        let identity = authority.issue(for: ["localhost", "127.0.0.1"])
        let context =
            try context ?? .server(chain: .text(identity.chainPEM), key: .text(identity.keyPEM))
        let run = try RunningLoop()
        let state = TracedLock(State())
        running = run
        self.state = state
        listener = try TCPListener(host: "127.0.0.1", port: 0, on: [run.loop], connectionsMax: 200) { tcp in
            TLSConnection.accept(tcp, context: context) { tls in
                let number = state.withLock { state in
                    state.connections += 1
                    return state.connections
                }
                let served = ServedConnection(
                    number: number, tls: tls, limits: limits, state: state, script: script)
                state.withLock { $0.open[number] = served }
                return served
            }
        }
    }

    deinit { listener.stop() }

    /// Calls `body` with every open connection, on the server's loop.
    func forEachConnection(_ body: @escaping @Sendable (ServedConnection) -> Void) {
        loop.execute { [self] in for connection in read({ Array($0.open.values) }) { body(connection) } }
    }
}

/// One request, as a script receives it.
struct ServedRequest: Sendable {
    let stream: ServerStreamID
    /// The push's tag, which is the number in its `apns-id`.
    let tag: UInt64
    let method: String
    let path: String
    let headers: [String: String]
    let body: [UInt8]
}

/// One connection, as a script receives it. Confined to the server's loop.
final class ServedConnection: TLSConnectionDelegate, @unchecked Sendable {
    let number: Int
    let session: ServerSession
    let tls: TLSConnection
    /// The number of received requests.
    private(set) var requests = 0
    private let state: TracedLock<ScriptedServer.State>
    private let script: ScriptedServer.Script
    private var timers: [LoopTimer] = []
    /// The bytes that are sent repeatedly beside the session, and their limit.
    private var flood: (bytes: [UInt8], total: Int) = ([], 0)
    private var unsentFlood: ArraySlice<UInt8> = []
    /// Number of bytes of the flood that were taken.
    private(set) var floodedBytes = 0

    init(
        number: Int, tls: TLSConnection, limits: ServerLimits, state: TracedLock<ScriptedServer.State>,
        script: @escaping ScriptedServer.Script
    ) {
        self.number = number
        self.tls = tls
        self.state = state
        self.script = script
        session = ServerSession(limits: limits)
    }

    func didEstablish(applicationProtocol: String) {}

    func didReceive(_ plaintext: UnsafeRawBufferPointer) {
        state.withLock { $0.plaintextBytes += plaintext.count }
        session.receive(plaintext)
        let batch = session.requests
        for request in batch.requests { serve(request, of: batch) }
        session.clearRequests()
        if session.isFinished { tls.finish() }
    }

    private func serve(_ request: IncomingRequest, of batch: RequestBatch) {
        let text = { (bytes: ArraySlice<UInt8>) in String(decoding: bytes, as: UTF8.self) }
        var headers: [String: String] = [:]
        for field in batch.fields(of: request) { headers[text(field.name)] = text(field.value) }
        let id = headers["apns-id"] ?? ""
        requests += 1
        state.withLock {
            $0.requests += 1
            if let bearer = headers["authorization"] { $0.bearers.insert(bearer) }
        }
        let served = ServedRequest(
            // The last group of a UUID has twelve hexadecimal digits.
            stream: request.stream, tag: UInt64(id.suffix(12), radix: 16) ?? 0,
            method: text(batch.method(of: request)), path: text(batch.path(of: request)), headers: headers,
            body: Array(batch.body(of: request)))
        script(self, served)
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let pulled = session.pull(into: buffer)
        guard pulled == 0, floodedBytes < flood.total else { return pulled }
        if unsentFlood.isEmpty { unsentFlood = flood.bytes[...] }
        let count = min(buffer.count, unsentFlood.count)
        buffer.copyBytes(from: unsentFlood.prefix(count))
        unsentFlood.removeFirst(count)
        floodedBytes += count
        return count
    }

    func didClose(reason: TLSCloseReason) {
        session.end()
        timers.removeAll()
        _ = state.withLock { $0.open.removeValue(forKey: number) }
    }

    // MARK: Actions of a script

    /// Answers with 200.
    func accept(_ request: ServedRequest) {
        guard let template = try? ResponseTemplate(status: 200),
            session.respond(to: request.stream, template: template)
        else { return }
        state.withLock { $0.accepted[request.tag, default: []].append(number) }
        tls.requestFill()
    }

    /// Answers with any status and body.
    func refuse(_ request: ServedRequest, status: Int, body: String, headers: [HeaderField] = []) {
        guard let template = try? ResponseTemplate(status: status, headers: headers) else { return }
        let bytes = Array(body.utf8)
        session.respond(
            to: request.stream, template: template,
            body: bytes.isEmpty ? nil : SharedBody(copying: bytes.span))
        tls.requestFill()
    }

    func refuse(_ request: ServedRequest, status: Int, reason: String) {
        refuse(request, status: status, body: #"{"reason":"\#(reason)"}"#)
    }

    func reset(_ request: ServedRequest, code: HTTP2ErrorCode) {
        session.reset(request.stream, code: code)
        tls.requestFill()
    }

    /// Announces another limit of concurrent streams.
    func change(streamsMax: Int) {
        session.changeSettings(SettingsChange(concurrentStreamsMax: UInt32(streamsMax)))
        tls.requestFill()
    }

    func goaway(lastStream last: Int32, code: HTTP2ErrorCode = .noError, debug: String = "") {
        session.sendGoaway(lastStream: last, code: code, debug: Array(debug.utf8))
        tls.requestFill()
    }

    /// Bypasses the session: sends `first` once, then `bytes` repeatedly, about `total` bytes in all.
    func send(raw bytes: [UInt8], after first: [UInt8], total: Int) {
        flood = (bytes, total)
        unsentFlood = first[...]
        tls.requestFill()
    }

    /// Calls `body` later, unless the connection has closed by then.
    func after(milliseconds: Int, _ body: @escaping () -> Void) {
        let timer = LoopTimer(on: tls.loop, action: body)
        timer.schedule(at: tls.loop.now.advanced(byMilliseconds: milliseconds))
        timers.append(timer)
    }
}

/// A loop that stops with the test.
final class RunningLoop: Sendable {
    let loop: EventLoop

    init() throws {
        loop = try EventLoop(name: "apns-test")
        try loop.start()
    }

    deinit { loop.stop() }
}
