internal import Cryptography
internal import HTTP2
internal import Lifecycle
internal import TLS

/// The pushes that both clients of the benchmark send: a token of 64 hex digits, the headers of a push with a
/// bearer token of 191 bytes, and a body of 600 bytes.
enum PushLoad {
    static let tokenCount = 10_000
    static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 600)
    static let headers = [
        (
            "authorization",
            "bearer " + String(String(repeating: "eyJhbGciOiJFUzI1NiIsImtpZCI6Ikx", count: 6).prefix(184))
        ),
        ("apns-topic", "com.example.matchday.push-type.liveactivity"), ("apns-push-type", "liveactivity"),
        ("apns-priority", "10"), ("apns-expiration", "1763632800"),
    ]

    /// Returns the token of an index. Every process makes the same tokens.
    static func token(at index: Int) -> String {
        tokenWords(at: index).map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Appends the bytes whose hex digits `token` returns.
    static func appendToken(at index: Int, to bytes: inout [UInt8]) {
        for word in tokenWords(at: index) {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
    }

    private static func tokenWords(at index: Int) -> [UInt64] {
        var random = SplitMix64(state: UInt64(index))
        return (0..<4).map { _ in random.next() }
    }

    static func path(at index: Int) -> String { "/3/device/\(token(at: index))" }
}

/// A client process of the benchmark: `connections` sessions over TLS on one event loop. Each keeps `streams`
/// pushes open until `requests` have been answered. Confined to its loop.
final class HTTP2LoadClient {
    private let result: FirstResult<Int>
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
        let end = FirstResult<Int>()
        let load = try LoopOwned<HTTP2LoadClient>(thread: "bench") { owner in
            let load = try HTTP2LoadClient(
                requests: requests, streams: streams, authority: authority, result: end)
            for _ in 0..<connections {
                HTTP2LoadClientConnection(client: load).connect(with: context, port: port, on: owner.loop)
            }
            return load
        }
        defer { load.stop() }
        _ = try end.wait()
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

    func fail(reason why: String) {
        result.complete(with: .failure(BenchmarkFailure("after \(succeeded) answers: \(why)")))
    }
}

/// One session with its TLS connection.
private final class HTTP2LoadClientConnection: TLSConnectionDelegate {
    private let client: HTTP2LoadClient
    private let session: ClientSession
    private var connection: TLSConnection?

    init(client load: HTTP2LoadClient) {
        self.client = load
        var limits = ClientLimits()
        limits.streamsMax = load.streams
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
