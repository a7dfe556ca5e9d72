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
        let response = try await perform(
            .init(method: "POST", path: "/v1/sends", apiKey: key, body: Array(body.utf8)))
        return try decode(response, expectedStatus: 202) { $0.object()["sendId"].string() }
    }

    func progress(of send: String) async throws -> DemonstrationProgress {
        let response = try await perform(.init(method: "GET", path: "/v1/sends/\(send)", apiKey: key))
        return try decode(response, expectedStatus: 200, with: DemonstrationProgress.init)
    }

    /// Decodes the body, or throws if the status is another one.
    private func decode<T>(
        _ response: HTTPClientResponse, expectedStatus: Int, with decodeBody: (JSONValue) -> T
    ) throws -> T {
        guard response.status == expectedStatus, let body = response.body else {
            let responseText = response.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw CommandError(
                status: .unavailable,
                "the gateway answers the demonstration with \(response.status): \(responseText)")
        }
        return try JSONReader().read(body, decode: decodeBody)
    }

    private func perform(_ request: HTTPClientConnection.Request) async throws -> HTTPClientResponse {
        switch await client.send(request, withinMilliseconds: Self.responseTimeoutMilliseconds) {
        case .answered(let response): return response
        case .failed(let reason):
            throw CommandError(
                status: .unavailable, "the gateway does not answer the demonstration: \(reason)")
        }
    }
}
