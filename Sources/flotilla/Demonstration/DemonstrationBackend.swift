internal import HTTPClient
internal import JSON
internal import Lifecycle

/// The demonstration's backend: it posts sends to the gateway and asks how far they are, as a customer's does.
///
/// `@unchecked Sendable`: `link` is touched on `loop` alone.
final class DemonstrationBackend: @unchecked Sendable {
    private static let answerMilliseconds = 10_000

    private let address: SocketAddress
    private let key: String
    private let loop: EventLoop
    private var link: HTTPLink?
    private var answered: CheckedContinuation<HTTPLink.Outcome, Never>?

    /// - Parameter key: an API key with the role `send`.
    init(gateway address: SocketAddress, key: String) throws {
        self.address = address
        self.key = key
        loop = try EventLoop(name: "demonstration")
        try loop.start()
    }

    func stop() {
        _ = loop.perform { self.link?.end() }
        loop.stop()
    }

    /// Answers with the send's id.
    func send(_ body: String) async throws -> String {
        let answer = try await ask(.init("POST", "/v1/sends", key: key, body: Array(body.utf8)))
        return try read(answer, wanted: 202) { $0.object()["sendId"].string() }
    }

    func progress(of send: String) async throws -> DemonstrationProgress {
        let answer = try await ask(.init("GET", "/v1/sends/\(send)", key: key))
        return try read(answer, wanted: 200, DemonstrationProgress.init)
    }

    private func read<T>(
        _ answer: HTTPAnswer, wanted: Int, _ take: (JSONValue) -> T
    ) throws -> T {
        guard answer.status == wanted, let body = answer.body else {
            let said = answer.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw Refusal(
                status: .unavailable, "the gateway answers the demonstration with \(answer.status): \(said)")
        }
        return try JSONReader().read(body, take)
    }

    private func ask(_ request: HTTPLink.Request) async throws -> HTTPAnswer {
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<_, Never>) in
            let isAsked = loop.execute {
                self.answered = continuation
                let deadline = self.loop.now.advanced(byMilliseconds: Self.answerMilliseconds)
                self.usableLink().send(request, deadline: deadline)
            }
            if !isAsked { continuation.resume(returning: .failed("it has been stopped")) }
        }
        switch outcome {
        case .answered(let answer): return answer
        case .failed(let reason):
            throw Refusal(
                status: .unavailable, "the gateway does not answer the demonstration: \(reason)")
        }
    }

    private func usableLink() -> HTTPLink {
        if let link, !link.isOver { return link }
        let link = HTTPLink(host: address.host, port: address.port, on: loop) { [unowned self] outcome in
            let waiting = answered
            answered = nil
            waiting?.resume(returning: outcome)
        }
        self.link = link
        return link
    }
}
