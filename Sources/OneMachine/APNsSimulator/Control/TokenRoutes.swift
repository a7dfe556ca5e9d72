internal import HTTPServer
internal import JSON
internal import LiveActivity

/// `/v1/tokens/{token}`: the status of one token for later answers.
struct TokenRoutes {
    private enum Word: String, CaseIterable {
        case good
        case unknown
        case ofAnotherTopic = "of_another_topic"
        case gone
        case expired
    }

    let desk: ControlDesk

    func add(to routes: inout HTTPRoutes) {
        let desk = desk
        routes.control(.get, "/v1/tokens/{token}") { request in
            let token = try Self.token(request)
            return Self.shown(token, try await desk.ask { $0.standings.said(of: token) })
        }
        routes.control(.post, "/v1/tokens/{token}") { request in
            let token = try Self.token(request)
            let standing = try request.read { Self.standing($0, now: desk.simulator.clock.now) }
            try await Self.say(standing, of: token, at: desk)
            return Self.shown(token, standing)
        }
        routes.control(.delete, "/v1/tokens/{token}") { request in
            let token = try Self.token(request)
            try await Self.say(nil, of: token, at: desk)
            return Self.shown(token, nil)
        }
    }

    private static func say(_ standing: TokenStanding?, of token: PushToken, at desk: ControlDesk)
        async throws
    {
        try await desk.ask { desk throws(ControlRefusal) in
            if desk.standings.say(standing, of: token) { return }
            throw ControlRefusal(
                409, "too_many_tokens",
                message: "\(TokenStandings.tokensMax) tokens already have a fixed standing; delete some")
        }
    }

    private static func token(_ request: HTTPRequest) throws -> PushToken {
        guard let token = PushToken(hex: request.parameters["token"] ?? "") else {
            throw ControlRefusal(400, "bad_token", message: "a token " + PushToken.problem)
        }
        return token
    }

    private static func standing(_ value: JSONValue, now: Int64) -> TokenStanding {
        let object = value.object()
        let word = object["standing"].choice(of: Word.self)
        let since = object["since"].optional?.time()
        if since != nil, word != .gone, word != .expired {
            object["since"].report("must be absent unless standing is gone or expired")
        }
        object.refuseUnknownFields()
        return switch word {
        case .good, nil: .good
        case .unknown: .unknown
        case .ofAnotherTopic: .ofAnotherTopic
        case .gone: .gone(since: since ?? now)
        case .expired: .expired(since: since ?? now)
        }
    }

    private static func shown(_ token: PushToken, _ standing: TokenStanding?) -> HTTPResponse {
        .object { json in
            json.field("token", token.description)
            switch standing {
            case nil: break
            case .good: json.field("standing", Word.good.rawValue)
            case .unknown: json.field("standing", Word.unknown.rawValue)
            case .ofAnotherTopic: json.field("standing", Word.ofAnotherTopic.rawValue)
            case .gone(let since):
                json.field("standing", Word.gone.rawValue)
                json.field("since", since)
            case .expired(let since):
                json.field("standing", Word.expired.rawValue)
                json.field("since", since)
            }
        }
    }
}
