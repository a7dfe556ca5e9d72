internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Members
internal import Sends

extension QueryHandler {
    /// The versions in the answer about one group. The timeline contains all of them.
    private static let newestVersionsMax = 50

    func groups(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        var question = LaneQuery(.groupList, app: call.app)
        let state = try parameters.choice("state", of: ["live", "ended", "all"])
        question.code = state == "all" ? nil : state
        let limit = try parameters.limit()
        question.limit = limit + 1
        question.after = try parameters.cursor()
        try parameters.checkAllRead()
        let listed = await fanOut.run(question)
        let (page, next) = Self.page(listed.scopes, limit: limit)
        let (reports, all) = await reports(of: page.map(\.value), app: call.app)
        return object(from: [listed] + all) { writer in
            writer.objects("groups", of: reports) { $0.write(to: &$1) }
            writer.field("next", next?.cursor)
        }
    }

    func group(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        let user = try parameters.text("user")
        try parameters.checkAllRead()
        guard let id = call.id, NameRules.problem(id) == nil else { throw .unknown }
        var question = LaneQuery(.groups, app: call.app)
        (question.names, question.user) = ([id], user)
        let found = await fanOut.run(question)
        let wanted: Recipient? = user.map { .user($0) }
        let scopes = found.scopes.map(\.value)
        guard let scope = scopes.first(where: { $0.key.recipient == wanted }) ?? scopes.first else {
            throw emptyResultProblem(for: [found])
        }
        var versions = LaneQuery(.sendList, app: call.app)
        versions.group = id
        versions.limit = Self.newestVersionsMax
        let (lines, _, more) = await lines(for: versions, limit: Self.newestVersionsMax)
        let (reports, all) = await reports(of: [scope], app: call.app)
        return object(from: [found] + more + all) { writer in
            for report in reports { report.write(to: &writer) }
            writer.list("versions", of: lines) { $0.write(to: &$1) }
        }
    }

    /// Returns groups with the number of running activities and the results of their newest sends.
    private func reports(
        of scopes: [QueryResult.GroupScope], app: String
    ) async -> (reports: [GroupReport], all: [QueryResult]) {
        if scopes.isEmpty { return ([], []) }
        var running = LaneQuery(.running, app: app)
        running.names = Array(Set(scopes.compactMap(\.key.group)))
        var newest = LaneQuery(.sends, app: app)
        newest.names = scopes.compactMap { $0.row.newestState?.send }
        async let counted = fanOut.run(running)
        async let told = fanOut.run(newest)
        let (runs, sends) = await (counted, told)
        let reports = scopes.map { scope in
            GroupReport(scope: scope, running: runs.running[scope.key.group ?? ""] ?? 0, newest: sends)
        }
        return (reports, [runs, sends])
    }
}
