internal import Cryptography
internal import Foundation
internal import Lifecycle
package import TLS

/// A webhook endpoint for tests: a real HTTP/1.1 server whose script decides each answer. It checks the signature of each
/// call, and that the events of each user arrive in order.
package final class ScriptedEndpoint: Sendable {
    /// One call, as the endpoint received it.
    package struct Call: Sendable {
        package let id: String
        package let type: String
        /// The member `data` of the body.
        package let data: [String: String]
        package let headers: [String: String]
        package let body: String
        /// The number of calls with this id so far, this call included.
        package let attempt: Int
    }

    /// The reaction to a call.
    package enum Answer: Sendable {
        case status(Int, headers: String = "")
        /// An answer after this time.
        case late(Int, milliseconds: Int)
        /// A reset of the connection before an answer.
        case reset
        /// No answer.
        case silence
    }

    package typealias Script = @Sendable (Call) -> Answer

    fileprivate struct State {
        var calls: [Call] = []
        var acceptedIDs: Set<String> = []
        var attempts: [String: Int] = [:]
        /// The number of the last accepted event by user. Events are numbered from 1 in `scheduleName`.
        var lastAccepted: [String: Int] = [:]
        var faults: [String] = []
    }

    private let loop: EventLoop
    private let listener: TCPListener
    private let state = TracedLock(State())

    /// - Parameters:
    ///   - keys: The keys that may sign. A call that none of them has signed is a fault.
    ///   - tls: The server's certificate, or nil for plain HTTP.
    ///   - port: 0 lets the system choose.
    package init(
        keys: [[UInt8]], tls: TLSContext? = nil, port: Int = 0, _ script: @escaping Script
    ) throws {
        loop = try EventLoop(name: "endpoint")
        try loop.start()
        let state = state
        listener = try TCPListener(host: "127.0.0.1", port: port, on: [loop], connectionsMax: 500) { tcp in
            guard let tls else {
                return ServedConnection(plain: tcp, keys: keys, state: state, script: script)
            }
            return TLSConnection.accept(tcp, context: tls) { connection in
                ServedConnection(encrypted: connection, keys: keys, state: state, script: script)
            }
        }
    }

    deinit {
        listener.stop()
        loop.stop()
    }

    package var port: Int { listener.port }
    package var calls: [Call] { state.withLock { $0.calls } }
    package var acceptedCount: Int { state.withLock { $0.acceptedIDs.count } }
    package var acceptedIDs: Set<String> { state.withLock { $0.acceptedIDs } }
    /// The first violations of an invariant, for example of the order.
    package var faults: [String] { state.withLock { $0.faults } }
    package var lastAcceptedByUser: [String: Int] { state.withLock { $0.lastAccepted } }
}

/// One accepted connection. Confined to its loop.
private final class ServedConnection: TCPConnectionDelegate, TLSConnectionDelegate {
    private enum Transport {
        case plain(TCPConnection)
        case encrypted(TLSConnection)
    }

    private let transport: Transport
    private let keys: [[UInt8]]
    private let state: TracedLock<ScriptedEndpoint.State>
    private let script: ScriptedEndpoint.Script
    private var input: [UInt8] = []
    private var output: ArraySlice<UInt8> = []
    private var timers: [LoopTimer] = []

    init(
        plain tcp: TCPConnection, keys: [[UInt8]], state: TracedLock<ScriptedEndpoint.State>,
        script: @escaping ScriptedEndpoint.Script
    ) {
        (transport, self.keys, self.state, self.script) = (.plain(tcp), keys, state, script)
    }

    init(
        encrypted tls: TLSConnection, keys: [[UInt8]], state: TracedLock<ScriptedEndpoint.State>,
        script: @escaping ScriptedEndpoint.Script
    ) {
        (transport, self.keys, self.state, self.script) = (.encrypted(tls), keys, state, script)
    }

    func didEstablish(applicationProtocol: String) {}
    func didBecomeWritable() {}
    func didClose(reason: TCPCloseReason) { timers = [] }
    func didClose(reason: TLSCloseReason) { timers = [] }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let part = output.prefix(buffer.count)
        unsafe buffer.copyBytes(from: part)
        output = output.dropFirst(part.count)
        return part.count
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer) {
        unsafe input.append(contentsOf: bytes)
        while let request = takeRequest() { answer(request) }
    }

    /// Removes the next complete request from the input.
    private func takeRequest() -> (head: String, body: [UInt8])? {
        guard let end = input.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let head = String(decoding: input[..<end.lowerBound], as: UTF8.self)
        let lengthLine = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
        let length = lengthLine.flatMap { Int($0.dropFirst("Content-Length: ".count)) } ?? 0
        guard input.count >= end.upperBound + length else { return nil }
        let body = Array(input[end.upperBound..<end.upperBound + length])
        input.removeFirst(end.upperBound + length)
        return (head, body)
    }

    private func answer(_ request: (head: String, body: [UInt8])) {
        let call = note(request)
        switch script(call) {
        case .status(let status, let headers): respond(status, headers: headers, to: call)
        case .late(let status, let milliseconds):
            let timer = LoopTimer(on: loop) { [weak self] in self?.respond(status, headers: "", to: call) }
            timer.schedule(at: loop.now.advanced(byMilliseconds: milliseconds))
            timers.append(timer)
        case .reset:
            switch transport {
            case .plain(let tcp): tcp.reset()
            case .encrypted(let tls): tls.reset()
            }
        case .silence: break
        }
    }

    private var loop: EventLoop {
        switch transport {
        case .plain(let tcp): tcp.loop
        case .encrypted(let tls): tls.loop
        }
    }

    /// Notes a call and checks its signature and its order.
    private func note(_ request: (head: String, body: [UInt8])) -> ScriptedEndpoint.Call {
        var headers: [String: String] = [:]
        for line in request.head.split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        }
        let root = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
        let data = (root?["data"] as? [String: Any] ?? [:]).mapValues { "\($0)" }
        let id = headers["webhook-id"] ?? ""
        let isSigned = isSigned(request.body, headers: headers)
        return state.withLock { state in
            state.attempts[id, default: 0] += 1
            let call = ScriptedEndpoint.Call(
                id: id, type: root?["type"] as? String ?? "", data: data, headers: headers,
                body: String(decoding: request.body, as: UTF8.self), attempt: state.attempts[id] ?? 0)
            state.calls.append(call)
            if !isSigned { state.faults.append("the call \(id) has no valid signature") }
            if let user = data["userId"], let number = data["scheduleName"].flatMap({ Int($0) }),
                number > (state.lastAccepted[user] ?? 0) + 1
            {
                let last = state.lastAccepted[user] ?? 0
                state.faults.append("event \(number) of \(user) came before \(last + 1) was accepted")
            }
            return call
        }
    }

    private func isSigned(_ body: [UInt8], headers: [String: String]) -> Bool {
        let content =
            Array("\(headers["webhook-id"] ?? "").\(headers["webhook-timestamp"] ?? "").".utf8) + body
        let expected = keys.map { key in
            let code = HMACSHA256(key: SecretBytes(copying: key)).authenticationCode(for: content)
            return "v1," + Data(code).base64EncodedString()
        }
        let found = (headers["webhook-signature"] ?? "").split(separator: " ").map(String.init)
        return !Set(found).isDisjoint(with: expected)
    }

    private func respond(_ status: Int, headers: String, to call: ScriptedEndpoint.Call) {
        if (200...299).contains(status) {
            state.withLock { state in
                state.acceptedIDs.insert(call.id)
                if let user = call.data["userId"], let number = call.data["scheduleName"].flatMap({ Int($0) })
                {
                    state.lastAccepted[user] = max(number, state.lastAccepted[user] ?? 0)
                }
            }
        }
        let text = Array("HTTP/1.1 \(status) Answer\r\n\(headers)Content-Length: 2\r\n\r\nok".utf8)
        switch transport {
        case .plain(let tcp): tcp.send(text)
        case .encrypted(let tls):
            output += text
            tls.requestFill()
        }
    }
}
