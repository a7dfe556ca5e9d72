internal import HTTPServer
internal import Identifiers
internal import JSON

/// `/v1/tokens/{token}`: reads, fixes or releases the status of one token, which decides the answers to its
/// pushes.
struct TokenRoutes {
    /// The values of the field `standing`, the name of the status in the API.
    private enum StatusName: String, CaseIterable {
        case good
        case unknown
        case ofAnotherTopic = "of_another_topic"
        case gone
        case expired
    }

    let controller: SimulatorController

    func add(to routes: inout HTTPRoutes) {
        let controller = controller
        routes.control(.get, path: "/v1/tokens/{token}") { request in
            let token = try Self.token(in: request)
            return Self.response(
                for: token, status: try await controller.perform { $0.tokenStatuses.override(for: token) })
        }
        routes.control(.post, path: "/v1/tokens/{token}") { request in
            let token = try Self.token(in: request)
            let status = try request.readJSON { Self.status(from: $0, now: controller.simulator.clock.now) }
            try await Self.setStatus(status, of: token, in: controller)
            return Self.response(for: token, status: status)
        }
        routes.control(.delete, path: "/v1/tokens/{token}") { request in
            let token = try Self.token(in: request)
            try await Self.setStatus(nil, of: token, in: controller)
            return Self.response(for: token, status: nil)
        }
    }

    /// - Parameter status: nil releases the status.
    private static func setStatus(
        _ status: TokenStatus?, of token: PushToken, in controller: SimulatorController
    ) async throws {
        try await controller.perform { controller throws(ControlRefusal) in
            if controller.tokenStatuses.setStatus(status, of: token) { return }
            throw ControlRefusal(
                status: 409, code: "too_many_tokens",
                message: "\(TokenStatusOverrides.tokensMax) tokens already have a fixed standing; delete some"
            )
        }
    }

    private static func token(in request: HTTPRequest) throws -> PushToken {
        guard let token = PushToken(hex: request.parameters["token"] ?? "") else {
            throw ControlRefusal(
                status: 400, code: "bad_token", message: "a token " + PushToken.formatProblem)
        }
        return token
    }

    /// Reads a status, for example `{"standing": "gone", "since": 1767225600000}`.
    ///
    /// - Parameter now: the time of the status without `since`, in milliseconds since 1970.
    private static func status(from value: JSONValue, now: Int64) -> TokenStatus {
        let object = value.object()
        let name = object["standing"].choice(of: StatusName.self)
        let since = object["since"].optional?.timeMilliseconds()
        if since != nil, name != .gone, name != .expired {
            object["since"].report("must be absent unless standing is gone or expired")
        }
        object.reportUnknownFields()
        return switch name {
        case .good, nil: .valid
        case .unknown: .unknown
        case .ofAnotherTopic: .wrongTopic
        case .gone: .unregistered(since: since ?? now)
        case .expired: .expired(since: since ?? now)
        }
    }

    private static func response(for token: PushToken, status: TokenStatus?) -> HTTPResponse {
        .object { json in
            json.field("token", token.description)
            switch status {
            case nil: break
            case .valid: json.field("standing", StatusName.good.rawValue)
            case .unknown: json.field("standing", StatusName.unknown.rawValue)
            case .wrongTopic: json.field("standing", StatusName.ofAnotherTopic.rawValue)
            case .unregistered(let since):
                json.field("standing", StatusName.gone.rawValue)
                json.field("since", since)
            case .expired(let since):
                json.field("standing", StatusName.expired.rawValue)
                json.field("since", since)
            }
        }
    }
}
