internal import Foundation
internal import HTTPClient
internal import JSON
internal import Telemetry

/// A customer's backend. It posts to any gateway that answers, and repeats a request without an answer with
/// the same idempotency key.
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

    private static let answerMilliseconds = 10_000
    private static let sendSecondsMax = 120.0

    private let fleet: Fleet
    private var clients: [Int: SequentialHTTPClient] = [:]
    private var requestCount = 0

    package init(fleet: Fleet) { self.fleet = fleet }

    deinit { for caller in clients.values { caller.stop() } }

    /// - Parameter meanwhile: Called between tries.
    package func send(
        _ body: String, key: String, idempotencyKey: String, meanwhile: () async throws -> Void = {}
    ) async throws -> AcceptedSend {
        let limit = Date(timeIntervalSinceNow: Self.sendSecondsMax)
        var last = ""
        while Date() < limit {
            var request = HTTPClientConnection.Request(
                method: "POST", path: "/v1/sends", apiKey: key, body: Array(body.utf8))
            request.idempotencyKey = idempotencyKey
            if let answer = try await perform(request) {
                last = "\(answer.status) \(answer.text)"
                if answer.status == 202 {
                    let id = try JSONReader().read(answer.body) { $0.object()["sendId"].string() }
                    return AcceptedSend(id: id, acceptedAt: WallTime.now().milliseconds)
                }
                // A permanent rejection would be repeated.
                guard answer.status >= 500 || answer.status == 429 else { break }
            }
            try await meanwhile()
            try await Task.sleep(for: .milliseconds(20))
        }
        throw FleetFailure("the send \(idempotencyKey) was not accepted: \(last)")
    }

    package func get(path: String, key: String) async throws -> GatewayResponse? {
        try await perform(HTTPClientConnection.Request(method: "GET", path: path, apiKey: key))
    }

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

    /// Returns nil if the gateway did not answer.
    private func perform(_ request: HTTPClientConnection.Request) async throws -> GatewayResponse? {
        let ports = fleet.gatewayPorts
        guard !ports.isEmpty else { return nil }
        requestCount += 1
        return try await Self.perform(request, with: client(forPort: ports[requestCount % ports.count]))
    }

    private func client(forPort port: Int) throws -> SequentialHTTPClient {
        if let caller = clients[port] { return caller }
        let caller = try SequentialHTTPClient(host: "127.0.0.1", port: port, name: "backend")
        clients[port] = caller
        return caller
    }

    private static func perform(_ request: HTTPClientConnection.Request, with caller: SequentialHTTPClient)
        async throws -> GatewayResponse?
    {
        switch await caller.send(request, withinMilliseconds: answerMilliseconds) {
        case .answered(let answer): GatewayResponse(status: answer.status, body: answer.body ?? [])
        case .failed: nil
        }
    }

    // MARK: The simulator's control

    package func callSimulator(method: String, path: String, body: String = "") async throws
        -> GatewayResponse?
    {
        try await Self.perform(
            HTTPClientConnection.Request(method: method, path: path, body: Array(body.utf8)),
            with: client(forPort: fleet.controlPort))
    }

    /// Returns the screens of a group's phones: the number of activities, and the states with their counts.
    package func screens(of group: String) async throws -> String {
        try await callSimulator(method: "GET", path: "/v1/groups/\(group)")?.text ?? ""
    }
}
