internal import HTTPServer
internal import JSON
internal import LiveActivity

extension Answering {
    /// The versions in the answer about one group. The timeline contains all of them.
    private static let newestVersionsMax = 50

    func groups(
        _ call: InsightCall, _ parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        var question = Question(.groupList, app: call.app)
        let state = try parameters.choice("state", ["live", "ended", "all"])
        question.code = state == "all" ? nil : state
        let limit = try parameters.limit()
        question.limit = limit + 1
        question.after = try parameters.cursor()
        try parameters.end()
        let listed = await asking.ask(question)
        let (page, next) = Self.page(listed.scopes, limit)
        let (reports, all) = await reports(page.map(\.value), app: call.app)
        return object([listed] + all) { writer in
            writer.objects("groups", of: reports) { $0.write(to: &$1) }
            writer.field("next", next?.cursor)
        }
    }

    func group(
        _ call: InsightCall, _ parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        let user = try parameters.text("user")
        try parameters.end()
        guard let id = call.id, Name.problem(id) == nil else { throw .unknown }
        var question = Question(.groups, app: call.app)
        (question.names, question.user) = ([id], user)
        let found = await asking.ask(question)
        let wanted: Recipient? = user.map { .user($0) }
        let scopes = found.scopes.map(\.value)
        guard let scope = scopes.first(where: { $0.key.recipient == wanted }) ?? scopes.first else {
            throw nothing([found])
        }
        var versions = Question(.sendList, app: call.app)
        versions.group = id
        versions.limit = Self.newestVersionsMax
        let (lines, _, more) = await lines(versions, Self.newestVersionsMax)
        let (reports, all) = await reports([scope], app: call.app)
        return object([found] + more + all) { writer in
            for report in reports { report.write(to: &writer) }
            writer.list("versions", of: lines) { $0.write(to: &$1) }
        }
    }

    /// Returns groups with the number of running activities and the results of their newest sends.
    private func reports(
        _ scopes: [Findings.Scope], app: String
    ) async -> (reports: [GroupReport], all: [Findings]) {
        if scopes.isEmpty { return ([], []) }
        var running = Question(.running, app: app)
        running.names = Array(Set(scopes.compactMap(\.key.group)))
        var newest = Question(.sends, app: app)
        newest.names = scopes.compactMap { $0.row.newest?.send }
        async let counted = asking.ask(running)
        async let told = asking.ask(newest)
        let (runs, sends) = await (counted, told)
        let reports = scopes.map { scope in
            GroupReport(scope, running: runs.running[scope.key.group ?? ""] ?? 0, newest: sends)
        }
        return (reports, [runs, sends])
    }
}
