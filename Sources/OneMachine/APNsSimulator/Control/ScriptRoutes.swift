internal import HTTPServer
internal import JSON

/// `/v1/script`: reads the fault script, replaces it, appends a rule, or removes it.
struct ScriptRoutes {
    let controller: SimulatorController

    func add(to routes: inout HTTPRoutes) {
        let controller = controller
        routes.control(.get, path: "/v1/script") { _ in try await Self.response(for: controller) }
        routes.control(.put, path: "/v1/script", bodyBytesMax: FaultScript.limits.bytesMax) { request in
            let script = try request.readJSON(limits: FaultScript.limits) { FaultScript($0) }
            try await controller.perform { $0.faultInjector.replace(with: script) }
            return try await Self.response(for: controller)
        }
        routes.control(.post, path: "/v1/script", bodyBytesMax: FaultScript.limits.bytesMax) { request in
            let rule = try request.readJSON(limits: FaultScript.limits) { FaultRule($0) }
            try await controller.perform { controller throws(ControlRefusal) in
                if controller.faultInjector.add(rule) { return }
                throw ControlRefusal(
                    status: 409, code: "script_full",
                    message:
                        "a script has at most \(FaultScript.rulesMax) rules and \(FaultScript.tokensMax) tokens; delete it first"
                )
            }
            return try await Self.response(for: controller)
        }
        routes.control(.delete, path: "/v1/script") { _ in
            try await controller.perform { $0.faultInjector.replace(with: .none) }
            return try await Self.response(for: controller)
        }
    }

    /// Returns the script with the counts of its rules.
    private static func response(for controller: SimulatorController) async throws -> HTTPResponse {
        let (script, hits) = try await controller.perform {
            ($0.faultInjector.runningScript.script, $0.faultInjector.runningScript.hits)
        }
        var json = JSONWriter()
        script.write(to: &json, hits: hits)
        return .json(json.bytes)
    }
}
