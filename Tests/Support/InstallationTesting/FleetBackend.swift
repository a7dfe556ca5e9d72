internal import Foundation
internal import HTTPClient
internal import JSON
internal import Telemetry

/// A customer's backend. It posts to the gateways in turn, and repeats a request without an answer with the same
/// idempotency key. It can also call the control API of the simulated APNs.
package final class FleetBackend {
    package struct GatewayResponse: Sendable {
        package let status: Int
        package let body: [UInt8]
        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// A send that was answered with 202.
    package struct AcceptedSend: Sendable {
        package let id: String
        /// The time of the answer, in milliseconds since 1970.
        package let acceptedAt: Int64
    }

    /// The progress of a send.
    package struct SendProgress: Sendable {
        package let isComplete: Bool
        package let verdict: String
        package let targeted: Int
        package let expanded: Int
    }

    private static let answerMillisecondsMax = 10_000
    private static let sendSecondsMax = 120.0
    private static let retryMilliseconds = 20

    private let fleet: Fleet
    /// The clients by port.
    private var clients: [Int: SequentialHTTPClient] = [:]
    private var requestCount = 0

    package init(fleet: Fleet) { self.fleet = fleet }

    deinit { for client in clients.values { client.stop() } }

    /// Sends a request to `/v1/sends` until it is accepted. Throws if it is rejected for good.
    ///
    /// - Parameter meanwhile: Called between two attempts.
    package func send(
        _ body: String, key: String, idempotencyKey: String, meanwhile: () async throws -> Void = {}
    ) async throws -> AcceptedSend {
        let deadline = Date(timeIntervalSinceNow: Self.sendSecondsMax)
        var lastAnswer = ""
        while Date() < deadline {
            var request = HTTPClientConnection.Request(
                method: "POST", path: "/v1/sends", apiKey: key, body: Array(body.utf8))
            request.idempotencyKey = idempotencyKey
            if let answer = try await perform(request) {
                lastAnswer = "\(answer.status) \(answer.text)"
                if answer.status == 202 {
                    let id = try JSONReader().read(answer.body) { $0.object()["sendId"].string() }
                    return AcceptedSend(id: id, acceptedAt: WallTime.now().milliseconds)
                }
                // Failures of the server and "too many requests" pass. Other rejections are permanent.
                guard answer.status >= 500 || answer.status == 429 else { break }
            }
            try await meanwhile()
            try await Task.sleep(for: .milliseconds(Self.retryMilliseconds))
        }
        throw FleetFailure("the send \(idempotencyKey) was not accepted: \(lastAnswer)")
    }

    /// Returns nil if the gateway did not answer, or if no gateway runs.
    package func get(path: String, key: String) async throws -> GatewayResponse? {
        try await perform(HTTPClientConnection.Request(method: "GET", path: path, apiKey: key))
    }

    /// Returns nil if no gateway knows the progress now.
    package func progress(of send: AcceptedSend, key: String) async throws -> SendProgress? {
        guard let answer = try await get(path: "/v1/sends/\(send.id)?at=\(send.acceptedAt)", key: key),
            answer.status == 200
        else { return nil }
        return try JSONReader().read(answer.body) { value in
            let members = value.object()
            return SendProgress(
                isComplete: members["isComplete"].bool(), verdict: members["verdict"].string(),
                targeted: members["targeted"].optional?.int(in: 0...Int.max) ?? 0,
                expanded: members["expanded"].optional?.int(in: 0...Int.max) ?? 0)
        }
    }

    /// Sends a request to one gateway, each time to the next. Returns nil if the gateway did not answer, or if no
    /// gateway runs.
    private func perform(_ request: HTTPClientConnection.Request) async throws -> GatewayResponse? {
        let ports = fleet.gatewayPorts
        guard !ports.isEmpty else { return nil }
        requestCount += 1
        return try await Self.perform(request, with: client(forPort: ports[requestCount % ports.count]))
    }

    private func client(forPort port: Int) throws -> SequentialHTTPClient {
        if let client = clients[port] { return client }
        let client = try SequentialHTTPClient(host: "127.0.0.1", port: port, name: "backend")
        clients[port] = client
        return client
    }

    private static func perform(_ request: HTTPClientConnection.Request, with client: SequentialHTTPClient)
        async throws -> GatewayResponse?
    {
        switch await client.send(request, withinMilliseconds: answerMillisecondsMax) {
        case .answered(let answer): GatewayResponse(status: answer.status, body: answer.body ?? [])
        case .failed: nil
        }
    }

    // MARK: The simulator's control API

    package func callSimulator(method: String, path: String, body: String = "") async throws
        -> GatewayResponse?
    {
        try await Self.perform(
            HTTPClientConnection.Request(method: method, path: path, body: Array(body.utf8)),
            with: client(forPort: fleet.controlPort))
    }

    /// Returns the simulator's summary of a group's phones as JSON: `activities`, `phonesWithSeveral` (phones that show
    /// more than one activity), `states`, and each content state with its count.
    package func screens(of group: String) async throws -> String {
        try await callSimulator(method: "GET", path: "/v1/groups/\(group)")?.text ?? ""
    }
}
