internal import Cryptography
internal import HTTP2
internal import Lifecycle
internal import TLS

/// A client process of the benchmark: `connections` sessions over TLS on one event loop. Each keeps `streams`
/// pushes open until `requests` have been answered. Confined to its loop.
final class HTTP2LoadClient {
    private let result: FirstResult<Int>
    /// The paths of all tokens, one after the other, `pathBytes` each.
    private let joinedPaths: [UInt8]
    private let pathBytes: Int
    let streams: Int
    private let requests: Int
    private var submitted = 0
    private var succeeded = 0
    private let template: RequestTemplate
    private let body: SharedBody

    private init(requests: Int, streams: Int, authority: String, result: FirstResult<Int>) throws {
        self.result = result
        joinedPaths = (0..<PushLoad.tokenCount).flatMap { Array(PushLoad.path(at: $0).utf8) }
        pathBytes = joinedPaths.count / PushLoad.tokenCount
        self.streams = streams
        self.requests = requests
        template = try RequestTemplate(
            method: "POST", authority: authority,
            headers: PushLoad.headers.map { HeaderField(name: $0.0, value: $0.1) })
        let bytes = PushLoad.body
        body = SharedBody(copying: bytes.span)
    }

    static func run(
        requests: Int, streams: Int, authority: String, port: Int, certificate: String, connections: Int
    ) throws {
        let context = try TLSContext.client(trust: .authorities(.file(certificate)))
        let result = FirstResult<Int>()
        let load = try LoopOwned<HTTP2LoadClient>(thread: "bench") { owner in
            let load = try HTTP2LoadClient(
                requests: requests, streams: streams, authority: authority, result: result)
            for _ in 0..<connections {
                HTTP2LoadClientConnection(client: load).connect(with: context, port: port, on: owner.loop)
            }
            return load
        }
        defer { load.stop() }
        _ = try result.wait()
    }

    func submit(to session: ClientSession) {
        let paths = joinedPaths
        while submitted < requests, session.openRequestCount < streams {
            let start = submitted % PushLoad.tokenCount * pathBytes
            let path = paths.span.extracting(start..<start + pathBytes)
            guard session.submit(template: template, path: path, body: body, tag: UInt64(submitted)) != nil
            else {
                return
            }
            submitted += 1
        }
    }

    func countSuccesses(in batch: OutcomeBatch) {
        for outcome in batch.outcomes where outcome.endReason == .answered && outcome.status == 200 {
            succeeded += 1
        }
        guard succeeded == requests else { return }
        result.complete(with: .success(succeeded))
    }

    func fail(reason: String) {
        result.complete(with: .failure(BenchmarkFailure("after \(succeeded) answers: \(reason)")))
    }
}

/// One session with its TLS connection.
private final class HTTP2LoadClientConnection: TLSConnectionDelegate {
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
        let deadline = loop.now.advanced(byMilliseconds: 10_000)
        connection = TLSConnection.connect(
            context: context, host: "127.0.0.1", port: port, on: loop, deadline: deadline, delegate: self)
    }

    func didEstablish(applicationProtocol: String) { client.submit(to: session) }

    func didReceive(_ plaintext: UnsafeRawBufferPointer) {
        unsafe session.receive(plaintext)
        guard !session.outcomes.outcomes.isEmpty else { return client.submit(to: session) }
        client.countSuccesses(in: session.outcomes)
        session.clearOutcomes()
        client.submit(to: session)
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int { unsafe session.pull(into: buffer) }

    func didClose(reason: TLSCloseReason) {
        session.end()
        client.fail(reason: "\(reason)")
    }
}
