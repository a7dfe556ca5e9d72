internal import HTTPServer
internal import LiveActivity

/// The query parameters of a call about schedules: their owner and the selection.
struct ScheduleQuery {
    private let context: RequestContext
    private var problems: [RequestProblem] = []

    init(_ context: RequestContext, allowed: [String]) {
        self.context = context
        var seen: Set<String> = []
        for (name, value) in context.query {
            if !allowed.contains(name) {
                add(
                    "unknown_field", at: name,
                    "is not a parameter of this call; use \(allowed.joined(separator: ", "))")
            } else if !seen.insert(name).inserted {
                add("duplicate_key", at: name, "occurs twice")
            } else if let problem = Name.problem(value) {
                add("invalid", at: name, problem)
            }
        }
    }

    private mutating func add(_ code: String, at field: String, _ message: String) {
        problems.append(RequestProblem(code, at: field, message))
    }

    private func value(_ name: String) -> String? { context.query.first { $0.name == name }?.value }

    /// Returns the owner of the schedules. A key that phones have can only select a user.
    mutating func owner() -> ScheduleOwner {
        let isBackend = context.role.includes(.read)
        switch (value("user"), value("group")) {
        case (let user?, nil):
            problems += context.unproven(
                user, context.headers[ScheduleDecision.proofHeader], proofAt: ScheduleDecision.proofHeader)
            return .recipient(.user(user))
        case (nil, let group?):
            if !isBackend { add("not_allowed", at: "group", "needs a key of the role send; name the user") }
            return .group(group)
        case (nil, nil): add("missing", at: "user", "is missing; it selects the owner of the schedules")
        case (_?, _?): add("conflict", at: "group", "must be omitted when user is given")
        }
        return .group("")
    }

    mutating func choice(_ owner: ScheduleOwner) -> ScheduleOrder.Choice {
        switch (value("activity"), value("id"), owner) {
        case (let activity?, nil, _): return .activity(activity)
        case (nil, let id?, _): return .id(id)
        case (nil, nil, .group(let group)): return .activity(group)
        case (nil, nil, _): add("missing", at: "activity", "is missing; it selects the schedules")
        case (_?, _?, _): add("conflict", at: "id", "must be omitted when activity is given")
        }
        return .id("")
    }

    func refuse() throws(RefusedRequest) {
        if !problems.isEmpty { throw RefusedRequest(problems) }
    }
}
