internal import HTTPServer
internal import JSON
internal import LiveActivity

/// `/v1/tokens/{token}`: the status of one token for later answers.
struct TokenRoutes {
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
            let standing = try request.readJSON { Self.status(from: $0, now: controller.simulator.clock.now) }
            try await Self.setStatus(standing, of: token, in: controller)
            return Self.response(for: token, status: standing)
        }
        routes.control(.delete, path: "/v1/tokens/{token}") { request in
            let token = try Self.token(in: request)
            try await Self.setStatus(nil, of: token, in: controller)
            return Self.response(for: token, status: nil)
        }
    }

    private static func setStatus(_ standing: TokenStatus?, of token: PushToken, in desk: SimulatorController)
        async throws
    {
        try await desk.perform { desk throws(ControlRefusal) in
            if desk.tokenStatuses.setStatus(standing, of: token) { return }
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

    private static func status(from value: JSONValue, now: Int64) -> TokenStatus {
        let object = value.object()
        let word = object["standing"].choice(of: StatusName.self)
        let since = object["since"].optional?.timeMilliseconds()
        if since != nil, word != .gone, word != .expired {
            object["since"].report("must be absent unless standing is gone or expired")
        }
        object.reportUnknownFields()
        return switch word {
        case .good, nil: .valid
        case .unknown: .unknown
        case .ofAnotherTopic: .wrongTopic
        case .gone: .unregistered(since: since ?? now)
        case .expired: .expired(since: since ?? now)
        }
    }

    private static func response(for token: PushToken, status standing: TokenStatus?) -> HTTPResponse {
        .object { json in
            json.field("token", token.description)
            switch standing {
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
