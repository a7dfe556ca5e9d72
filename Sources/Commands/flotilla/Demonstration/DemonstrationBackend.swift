internal import HTTPClient
internal import JSON
internal import Lifecycle

/// The backend of the demonstration. Like a customer's backend, it posts sends to the gateway and asks for
/// their progress.
final class DemonstrationBackend: Sendable {
    private static let responseTimeoutMilliseconds = 10_000

    private let client: SequentialHTTPClient
    private let key: String

    /// - Parameter key: an API key with the role `send`.
    init(gateway address: SocketAddress, key: String) throws {
        self.key = key
        client = try SequentialHTTPClient(host: address.host, port: address.port, name: "demonstration")
    }

    func stop() { client.stop() }

    /// Posts a send and returns its id.
    func postSend(body: String) async throws -> String {
        let answer = try await perform(
            .init(method: "POST", path: "/v1/sends", apiKey: key, body: Array(body.utf8)))
        return try decode(answer, expectedStatus: 202) { $0.object()["sendId"].string() }
    }

    func progress(of send: String) async throws -> DemonstrationProgress {
        let answer = try await perform(.init(method: "GET", path: "/v1/sends/\(send)", apiKey: key))
        return try decode(answer, expectedStatus: 200, with: DemonstrationProgress.init)
    }

    private func decode<T>(
        _ answer: HTTPClientResponse, expectedStatus: Int, with take: (JSONValue) -> T
    ) throws -> T {
        guard answer.status == expectedStatus, let body = answer.body else {
            let responseText = answer.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw CommandError(
                status: .unavailable,
                "the gateway answers the demonstration with \(answer.status): \(responseText)")
        }
        return try JSONReader().read(body, decode: take)
    }

    private func perform(_ request: HTTPClientConnection.Request) async throws -> HTTPClientResponse {
        switch await client.send(request, withinMilliseconds: Self.responseTimeoutMilliseconds) {
        case .answered(let answer): return answer
        case .failed(let reason):
            throw CommandError(
                status: .unavailable, "the gateway does not answer the demonstration: \(reason)")
        }
    }
}
