internal import HTTPClient
internal import JSON
internal import Lifecycle

/// The backend of the demonstration. Like a customer's backend, it posts sends to the gateway and asks for
/// their progress.
final class DemonstrationBackend: Sendable {
    private static let answerMilliseconds = 10_000

    private let caller: SequentialHTTPClient
    private let key: String

    /// - Parameter key: an API key with the role `send`.
    init(gateway address: SocketAddress, key: String) throws {
        self.key = key
        caller = try SequentialHTTPClient(host: address.host, port: address.port, name: "demonstration")
    }

    func stop() { caller.stop() }

    /// Posts a send and returns its id.
    func send(_ body: String) async throws -> String {
        let answer = try await ask(
            .init(method: "POST", path: "/v1/sends", apiKey: key, body: Array(body.utf8)))
        return try read(answer, wanted: 202) { $0.object()["sendId"].string() }
    }

    func progress(of send: String) async throws -> DemonstrationProgress {
        let answer = try await ask(.init(method: "GET", path: "/v1/sends/\(send)", apiKey: key))
        return try read(answer, wanted: 200, DemonstrationProgress.init)
    }

    private func read<T>(
        _ answer: HTTPClientResponse, wanted: Int, _ take: (JSONValue) -> T
    ) throws -> T {
        guard answer.status == wanted, let body = answer.body else {
            let said = answer.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw Refusal(
                status: .unavailable, "the gateway answers the demonstration with \(answer.status): \(said)")
        }
        return try JSONReader().read(body, decode: take)
    }

    private func ask(_ request: HTTPClientConnection.Request) async throws -> HTTPClientResponse {
        switch await caller.send(request, withinMilliseconds: Self.answerMilliseconds) {
        case .answered(let answer): return answer
        case .failed(let reason):
            throw Refusal(
                status: .unavailable, "the gateway does not answer the demonstration: \(reason)")
        }
    }
}
