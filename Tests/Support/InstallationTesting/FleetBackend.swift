internal import Foundation
internal import HTTPClient
internal import JSON
internal import Telemetry

/// A customer's backend. It posts to any gateway that answers, and repeats a request without an answer with
/// the same idempotency key.
package final class FleetBackend {
    package struct Answer: Sendable {
        package let status: Int
        package let body: [UInt8]
        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// A send that was answered with 202.
    package struct Accepted: Sendable {
        package let id: String
        /// The time of the answer, in milliseconds since 1970.
        package let at: Int64
    }

    /// The progress of a send.
    package struct Progress: Sendable {
        package let isComplete: Bool
        package let verdict: String
        package let targeted: Int
        package let expanded: Int
    }

    private static let answerMilliseconds = 10_000
    private static let sendSecondsMax = 120.0

    private let fleet: Fleet
    private var callers: [Int: SequentialHTTPClient] = [:]
    private var asked = 0

    package init(_ fleet: Fleet) { self.fleet = fleet }

    deinit { for caller in callers.values { caller.stop() } }

    /// - Parameter meanwhile: Called between tries.
    package func send(
        _ body: String, key: String, once: String, meanwhile: () async throws -> Void = {}
    ) async throws -> Accepted {
        let limit = Date(timeIntervalSinceNow: Self.sendSecondsMax)
        var last = ""
        while Date() < limit {
            var request = HTTPClientConnection.Request(
                method: "POST", path: "/v1/sends", apiKey: key, body: Array(body.utf8))
            request.idempotencyKey = once
            if let answer = try await ask(request) {
                last = "\(answer.status) \(answer.text)"
                if answer.status == 202 {
                    let id = try JSONReader().read(answer.body) { $0.object()["sendId"].string() }
                    return Accepted(id: id, at: WallTime.now().milliseconds)
                }
                // A permanent rejection would be repeated.
                guard answer.status >= 500 || answer.status == 429 else { break }
            }
            try await meanwhile()
            try await Task.sleep(for: .milliseconds(20))
        }
        throw FleetFailure("the send \(once) was not accepted: \(last)")
    }

    package func get(_ path: String, key: String) async throws -> Answer? {
        try await ask(HTTPClientConnection.Request(method: "GET", path: path, apiKey: key))
    }

    package func progress(of send: Accepted, key: String) async throws -> Progress? {
        guard let answer = try await get("/v1/sends/\(send.id)?at=\(send.at)", key: key), answer.status == 200
        else { return nil }
        return try JSONReader().read(answer.body) { value in
            let members = value.object()
            return Progress(
                isComplete: members["isComplete"].bool(), verdict: members["verdict"].string(),
                targeted: members["targeted"].optional?.int(in: 0...Int.max) ?? 0,
                expanded: members["expanded"].optional?.int(in: 0...Int.max) ?? 0)
        }
    }

    /// Returns nil if the gateway did not answer.
    private func ask(_ request: HTTPClientConnection.Request) async throws -> Answer? {
        let ports = fleet.gatewayPorts
        guard !ports.isEmpty else { return nil }
        asked += 1
        return try await Self.ask(request, by: caller(ports[asked % ports.count]))
    }

    private func caller(_ port: Int) throws -> SequentialHTTPClient {
        if let caller = callers[port] { return caller }
        let caller = try SequentialHTTPClient(host: "127.0.0.1", port: port, name: "backend")
        callers[port] = caller
        return caller
    }

    private static func ask(_ request: HTTPClientConnection.Request, by caller: SequentialHTTPClient)
        async throws -> Answer?
    {
        switch await caller.send(request, withinMilliseconds: answerMilliseconds) {
        case .answered(let answer): Answer(status: answer.status, body: answer.body ?? [])
        case .failed: nil
        }
    }

    // MARK: The simulator's control

    package func simulator(_ method: String, _ path: String, body: String = "") async throws -> Answer? {
        try await Self.ask(
            HTTPClientConnection.Request(method: method, path: path, body: Array(body.utf8)),
            by: caller(fleet.controlPort))
    }

    /// Returns the screens of a group's phones: the number of activities, and the states with their counts.
    package func screens(of group: String) async throws -> String {
        try await simulator("GET", "/v1/groups/\(group)")?.text ?? ""
    }
}
