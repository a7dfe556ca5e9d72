import Lifecycle

@testable import HTTP2

/// A client and a server session connected in memory. Nothing moves by itself: `clientSends` and `serverSends` return
/// the bytes that a side has to send, `toServer` and `toClient` deliver them, and `settle` does all of it until both
/// sides are quiet. Bytes move in fragments of at most `fragment`, and pulls use buffers of that size too, so that
/// every boundary is tested.
final class Wire {
    let client: ClientSession
    let server: ServerSession
    var fragment: Int
    var bytesMoved = 0

    init(
        client: ClientLimits = ClientLimits(), server: ServerLimits = ServerLimits(), fragment: Int = 16_384,
        keeping: [StaticString] = ["apns-id", "retry-after"]
    ) {
        self.client = ClientSession(limits: client, keeping: keeping)
        self.server = ServerSession(limits: server)
        self.fragment = fragment
    }

    /// Returns connected sessions that have exchanged SETTINGS.
    static func open(
        client: ClientLimits = ClientLimits(), server: ServerLimits = ServerLimits(), fragment: Int = 16_384
    ) -> Wire {
        let wire = Wire(client: client, server: server, fragment: fragment)
        wire.settle()
        _ = wire.client.takeEvents()
        _ = wire.server.takeEvents()
        return wire
    }

    /// Pulls all bytes of the client. Requests whose `sendDeadline` is `now` or earlier are not sent.
    func clientSends(at now: Instant = Instant(nanoseconds: .min)) -> [UInt8] {
        drain { [client] in client.pull(into: $0, at: now) }
    }

    func serverSends() -> [UInt8] { drain { [server] in server.pull(into: $0) } }

    func toServer(_ bytes: [UInt8]) { feed(bytes) { [server] in server.receive($0) } }
    func toClient(_ bytes: [UInt8]) { feed(bytes) { [client] in client.receive($0) } }

    /// Moves bytes in both directions until no side has any.
    func settle() {
        while true {
            let up = clientSends()
            toServer(up)
            let down = serverSends()
            toClient(down)
            if up.isEmpty, down.isEmpty { return }
        }
    }

    /// Pulls until a buffer is not full.
    private func drain(_ pull: (UnsafeMutableRawBufferPointer) -> Int) -> [UInt8] {
        var drained: [UInt8] = []
        withUnsafeTemporaryAllocation(byteCount: fragment, alignment: 16) { buffer in
            while true {
                let count = pull(buffer)
                drained += buffer[..<count]
                if count < buffer.count { return }
            }
        }
        bytesMoved += drained.count
        return drained
    }

    /// Delivers bytes in fragments.
    private func feed(_ bytes: [UInt8], _ receive: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var position = 0
            while position < bytes.count {
                let end = min(bytes.count, position + fragment)
                receive(UnsafeRawBufferPointer(rebasing: bytes[position..<end]))
                position = end
            }
        }
    }
}

/// The parts of a push as Flotilla sends it.
enum Push {
    static let bearer = "bearer " + String(repeating: "eyJhbGciOiJFUzI1NiJ9", count: 9)
    static let token = String(repeating: "0123456789abcdef", count: 4)
    static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 600)

    static func template(varying: String? = "apns-id") -> RequestTemplate {
        let headers = [
            HeaderField(name: "authorization", value: bearer),
            HeaderField(name: "apns-push-type", value: "liveactivity"),
            HeaderField(name: "apns-topic", value: "com.example.app.push-type.liveactivity"),
            HeaderField(name: "apns-priority", value: "10"), HeaderField(name: "apns-expiration", value: "0"),
        ]
        return valid {
            () throws(HeaderFieldError) in
            try RequestTemplate(
                method: "POST", authority: "api.push.apple.com", headers: headers, varying: varying)
        }
    }

    static func answer(_ status: Int, varying: String? = "apns-id") -> ResponseTemplate {
        valid { () throws(HeaderFieldError) in try ResponseTemplate(status: status, varying: varying) }
    }

    /// Traps on a fault, because the fields are constants of this file.
    private static func valid<T>(_ make: () throws(HeaderFieldError) -> T) -> T {
        do { return try make() } catch { preconditionFailure("\(error)") }
    }
}

extension ClientSession {
    /// Submits a push. Returns nil if the session takes no more.
    ///
    /// - Parameters:
    ///   - id: The apns-id. Without it the request has no such field.
    ///   - tag: The number that is in the outcome.
    ///   - sendDeadline: The time after which the request is not sent.
    @discardableResult
    func push(
        _ path: String = "/3/device/" + Push.token, id: String = "", body: [UInt8] = Push.body,
        tag: UInt64 = 0, template: RequestTemplate = Push.template(),
        sendDeadline: Instant = .distantFuture, deadline: Instant = .distantFuture
    ) -> RequestID? {
        submit(
            template: template, path: Array(path.utf8).span, varying: Array(id.utf8).span,
            body: body.isEmpty ? nil : SharedBody(copying: body.span), tag: tag,
            sendDeadline: sendDeadline, deadline: deadline)
    }

    /// Takes the outcomes since the last call.
    func takeOutcomes() -> [RequestOutcome] {
        defer { clearOutcomes() }
        return outcomes.outcomes
    }
}

extension ServerSession {
    /// Answers all requests that arrived.
    func answerAll(_ template: ResponseTemplate = Push.answer(200), id: String = "", body: [UInt8] = []) {
        let shared = body.isEmpty ? nil : SharedBody(copying: body.span)
        for request in requests.requests {
            respond(to: request.stream, template: template, varying: Array(id.utf8).span, body: shared)
        }
        clearRequests()
    }
}

/// Returns bytes as text, or nil for nil.
func text(_ bytes: ArraySlice<UInt8>?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
