internal import Cryptography
internal import HTTP2
internal import Lifecycle
internal import TLS

/// Our client in the HTTP/2 comparison, in a separate process. Several sessions over TLS, all on one event loop, send
/// pushes (`PushLoad`) until the wanted number was answered. Confined to its loop.
final class HTTP2LoadClient {
    /// The pushes that each session keeps open.
    let streams: Int
    /// The pushes of all sessions together.
    private let requests: Int
    private var submittedCount = 0
    private var succeededCount = 0
    /// Completed when all pushes have succeeded, or with the first failure.
    private let result: FirstResult<Void>

    private let template: RequestTemplate
    private let body: SharedBody
    /// The paths of all tokens, one after the other, `pathByteCount` each.
    private let joinedPaths: [UInt8]
    private let pathByteCount: Int

    private init(requests: Int, streams: Int, authority: String, result: FirstResult<Void>) throws {
        self.result = result
        joinedPaths = (0..<PushLoad.tokenCount).flatMap { Array(PushLoad.path(at: $0).utf8) }
        pathByteCount = joinedPaths.count / PushLoad.tokenCount
        self.streams = streams
        self.requests = requests
        template = try RequestTemplate(
            method: "POST", authority: authority,
            headers: PushLoad.headers.map { HeaderField(name: $0.0, value: $0.1) })
        let bodyBytes = PushLoad.body
        body = SharedBody(copying: bodyBytes.span)
    }

    /// Sends all pushes to a server on this machine. Blocks until they were answered.
    ///
    /// - Parameters:
    ///   - requests: the pushes of all connections together.
    ///   - streams: the pushes that each connection keeps open.
    ///   - certificate: the path of the server's certificate, which the client trusts.
    static func run(
        requests: Int, streams: Int, authority: String, port: Int, certificate: String, connections: Int
    ) throws {
        let context = try TLSContext.client(trust: .authorities(.file(certificate)))
        let result = FirstResult<Void>()
        let load = try LoopOwned<HTTP2LoadClient>(thread: "bench") { owner in
            let client = try HTTP2LoadClient(
                requests: requests, streams: streams, authority: authority, result: result)
            for _ in 0..<connections {
                // The TLS connection retains its delegate, so this class does not have to.
                HTTP2LoadClientConnection(client: client).connect(with: context, port: port, on: owner.loop)
            }
            return client
        }
        defer { load.stop() }
        try result.wait()
    }

    /// Submits pushes until the session has as many open ones as it keeps, or all were submitted.
    func submit(to session: ClientSession) {
        let paths = joinedPaths
        while submittedCount < requests, session.openRequestCount < streams {
            let start = submittedCount % PushLoad.tokenCount * pathByteCount
            let path = paths.span.extracting(start..<start + pathByteCount)
            let requestID = session.submit(
                template: template, path: path, body: body, tag: UInt64(submittedCount))
            // The server can allow fewer streams. The next answer makes room.
            if requestID == nil { return }
            submittedCount += 1
        }
    }

    /// Counts the successes. The first push that did not succeed ends the run.
    func countOutcomes(in batch: OutcomeBatch) {
        for outcome in batch.outcomes {
            guard outcome.endReason == .answered, outcome.status == 200 else {
                return fail(reason: "a push ended with \(outcome.endReason), status \(outcome.status)")
            }
            succeededCount += 1
        }
        if succeededCount == requests { result.complete(with: .success(())) }
    }

    func fail(reason: String) {
        result.complete(with: .failure(BenchmarkFailure("after \(succeededCount) answers: \(reason)")))
    }
}

/// One session with its TLS connection.
private final class HTTP2LoadClientConnection: TLSConnectionDelegate {
    private static let connectMillisecondsMax = 10_000

    private let client: HTTP2LoadClient
    private let session: ClientSession
    private var connection: TLSConnection?

    init(client: HTTP2LoadClient) {
        self.client = client
        var limits = ClientLimits()
        limits.streamsMax = client.streams
        session = ClientSession(limits: limits, keeping: ["apns-id", "retry-after"])
    }

    func connect(with context: TLSContext, port: Int, on loop: EventLoop) {
        let deadline = loop.now.advanced(byMilliseconds: Self.connectMillisecondsMax)
        connection = TLSConnection.connect(
            context: context, host: "127.0.0.1", port: port, on: loop, deadline: deadline, delegate: self)
    }

    func didEstablish(applicationProtocol: String) { client.submit(to: session) }

    func didReceive(_ plaintext: UnsafeRawBufferPointer) {
        unsafe session.receive(plaintext)
        if !session.outcomes.outcomes.isEmpty {
            client.countOutcomes(in: session.outcomes)
            session.clearOutcomes()
        }
        client.submit(to: session)
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int { unsafe session.pull(into: buffer) }

    func didClose(reason: TLSCloseReason) {
        session.end()
        client.fail(reason: "\(reason)")
    }
}
