internal import HTTPServer
internal import JSON

/// `/v1/script`: the faults from now on.
struct ScriptRoutes {
    let desk: ControlDesk

    func add(to routes: inout HTTPRoutes) {
        let desk = desk
        routes.control(.get, "/v1/script") { _ in try await Self.shown(desk) }
        routes.control(.put, "/v1/script", bodyBytesMax: Script.limits.bytesMax) { request in
            let script = try request.read(limits: Script.limits) { Script($0) }
            try await desk.ask { $0.mischief.replace(with: script) }
            return try await Self.shown(desk)
        }
        routes.control(.post, "/v1/script", bodyBytesMax: Script.limits.bytesMax) { request in
            let rule = try request.read(limits: Script.limits) { Rule($0) }
            try await desk.ask { desk throws(ControlRefusal) in
                if desk.mischief.add(rule) { return }
                throw ControlRefusal(
                    409, "script_full",
                    message:
                        "a script has at most \(Script.rulesMax) rules and \(Script.tokensMax) tokens; delete it first"
                )
            }
            return try await Self.shown(desk)
        }
        routes.control(.delete, "/v1/script") { _ in
            try await desk.ask { $0.mischief.replace(with: .none) }
            return try await Self.shown(desk)
        }
    }

    private static func shown(_ desk: ControlDesk) async throws -> HTTPResponse {
        let (script, hits) = try await desk.ask { ($0.mischief.running.script, $0.mischief.running.hits) }
        var json = JSONWriter()
        script.write(to: &json, hits: hits)
        return .json(json.bytes)
    }
}
