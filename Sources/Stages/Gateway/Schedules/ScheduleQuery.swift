internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import Schedules

/// The query parameters of a call about schedules: the user or group that owns them, and the activity or the id
/// that selects some of them, such as `?user=jane&activity=chest_timer`. Problems collect until `throwProblems`.
struct ScheduleQuery {
    private static let cursorName = "cursor"

    private let context: RequestContext
    private var problems: [RequestProblem] = []

    /// - Parameter allowed: The names of the call's parameters.
    init(in context: RequestContext, allowed: [String]) {
        self.context = context
        var seenNames: Set<String> = []
        for (name, value) in context.query {
            if !allowed.contains(name) {
                add(
                    code: "unknown_field", at: name,
                    message: "is not a parameter of this call; use \(allowed.joined(separator: ", "))")
            } else if !seenNames.insert(name).inserted {
                add(code: "duplicate_key", at: name, message: "occurs twice")
            } else if name != Self.cursorName, let problem = NameRules.problem(value) {
                add(code: "invalid", at: name, message: problem)
            }
        }
    }

    /// Returns the owner of the schedules. A key of the role `report`, which phones have, can only select a
    /// user. After a problem the owner is a placeholder, and `throwProblems` throws.
    mutating func owner() -> ScheduleOwner {
        switch (value(of: "user"), value(of: "group")) {
        case (let user?, nil):
            problems += context.proofProblems(
                of: user, proof: context.headers[ScheduleDecider.proofHeader], at: ScheduleDecider.proofHeader
            )
            return .recipient(.user(user))
        case (nil, let group?):
            if context.isFromPhone {
                add(code: "not_allowed", at: "group", message: "needs a key of the role send; name the user")
            }
            return .group(group)
        case (nil, nil):
            add(code: "missing", at: "user", message: "is missing; it selects the owner of the schedules")
        case (_?, _?): add(code: "conflict", at: "group", message: "must be omitted when user is given")
        }
        return .group("")
    }

    /// Returns the schedules of the owner that the call selects. A group as the owner selects all of its schedules.
    mutating func selection(for owner: ScheduleOwner) -> ScheduleCommand.TimerSelection {
        switch (value(of: "activity"), value(of: "id"), owner) {
        case (let activity?, nil, _): return .activity(activity)
        case (nil, let id?, _): return .id(id)
        case (nil, nil, .group(let group)): return .activity(group)
        case (nil, nil, _):
            add(code: "missing", at: "activity", message: "is missing; it selects the schedules")
        case (_?, _?, _): add(code: "conflict", at: "id", message: "must be omitted when activity is given")
        }
        return .id("")
    }

    /// Returns the position behind which the list continues, or nil for its beginning.
    mutating func position() -> TimerPosition? {
        guard let cursor = value(of: Self.cursorName) else { return nil }
        let position = TimerPosition(cursor: cursor)
        if position == nil {
            add(code: "invalid", at: Self.cursorName, message: "must be the field next of an earlier answer")
        }
        return position
    }

    func throwProblems() throws(RefusedRequest) {
        if !problems.isEmpty { throw RefusedRequest(problems) }
    }

    private func value(of name: String) -> String? { context.query.first { $0.name == name }?.value }

    private mutating func add(code: String, at field: String, message: String) {
        problems.append(RequestProblem(code: code, at: field, message: message))
    }
}
