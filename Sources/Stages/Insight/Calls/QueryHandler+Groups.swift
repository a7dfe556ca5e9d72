internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Members
internal import Sends

extension QueryHandler {
    /// The versions in the answer about one group. The timeline contains all of them.
    private static let newestVersionsMax = 50

    /// Answers with a list of groups by their newest send.
    func groups(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        var query = LaneQuery(.groupList, app: call.app)
        let state = try parameters.choice("state", of: ["live", "ended", "all"])
        query.code = state == "all" ? nil : state
        let limit = try parameters.limit()
        // The extra entry shows whether the list continues.
        query.limit = limit + 1
        query.after = try parameters.cursor()
        try parameters.checkAllRead()
        let listed = try await ask(query)
        let (page, next) = ListOrder().firstPage(of: listed.scopes, cuts: listed.cuts, limit: limit)
        let (reports, results) = try await reports(of: page.map(\.value), app: call.app)
        return objectResponse(from: [listed] + results) { writer in
            writer.objects("items", of: reports) { $0.write(to: &$1) }
            writer.field("next", next?.cursor)
        }
    }

    /// Answers with the state of one group and its newest versions.
    func group(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        let user = try parameters.text("user")
        try parameters.checkAllRead()
        guard let id = call.id, NameRules.problem(id) == nil else { throw .unknown }
        var query = LaneQuery(.groups, app: call.app)
        (query.names, query.user) = ([id], user)
        let result = try await ask(query)
        // A user without a separate send has the state of the whole group.
        let wantedRecipient: Recipient? = user.map { .user($0) }
        let scopes = result.scopes.map(\.value)
        guard let scope = scopes.first(where: { $0.key.recipient == wantedRecipient }) ?? scopes.first else {
            throw emptyResultProblem(for: [result])
        }
        var versions = LaneQuery(.sendList, app: call.app)
        versions.group = id
        let page = try await summaries(for: versions, limit: Self.newestVersionsMax)
        let (reports, reportResults) = try await reports(of: [scope], app: call.app)
        return objectResponse(from: [result] + page.results + reportResults) { writer in
            for report in reports { report.write(to: &writer) }
            writer.list("versions", of: page.lines.map(\.summary)) { $0.write(to: &$1) }
        }
    }

    /// Returns groups with the number of running activities and the results of their newest sends. Also returns the
    /// results of the queries for them.
    func reports(
        of scopes: [QueryResult.GroupScope], app: String
    ) async throws(CallProblem) -> (reports: [GroupReport], results: [QueryResult]) {
        if scopes.isEmpty { return ([], []) }
        var running = LaneQuery(.running, app: app)
        running.names = Array(Set(scopes.compactMap(\.key.group)))
        let counts = try await ask(running)
        let sends = try await sendRecords(of: scopes.compactMap { $0.row.newestState?.send }, app: app)
        let reports = scopes.map { scope in
            GroupReport(scope: scope, running: counts.running[scope.key.group ?? ""] ?? 0, newest: sends)
        }
        return (reports, [counts, sends])
    }
}
