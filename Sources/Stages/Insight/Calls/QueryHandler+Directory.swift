internal import HTTPServer
internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import Members

extension QueryHandler {
    /// Answers with a list of users by name.
    func users(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        var query = LaneQuery(.userList, app: call.app)
        let limit = try parameters.limit()
        // The extra entry shows whether the list continues.
        query.limit = limit + 1
        query.after = try parameters.cursor()
        try parameters.checkAllRead()
        let result = try await ask(query)
        let (page, next) = ListOrder().firstPage(of: result.users, cuts: result.cuts, limit: limit)
        return objectResponse(from: [result]) { writer in
            writer.objects("items", of: page) { entry, writer in
                writer.field("userId", entry.value.user)
                writer.field("installations", entry.value.installations)
                writer.field("hasProfile", entry.value.hasProfile)
                writer.field("heardAt", entry.value.lastReportAt)
            }
            writer.field("next", next?.cursor)
        }
    }

    /// Answers with a list of installations by id, of the app or of one user.
    func installations(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        var query = LaneQuery(.installationList, app: call.app)
        query.user = try parameters.text("user")
        let limit = try parameters.limit()
        query.limit = limit + 1
        query.after = try parameters.cursor()
        try parameters.checkAllRead()
        let result = try await ask(query)
        let (page, next) = ListOrder().firstPage(
            of: result.listedInstallations, cuts: result.cuts, limit: limit)
        return objectResponse(from: [result]) { writer in
            writer.objects("items", of: page) { entry, writer in
                Self.writeSummary(of: entry.value, to: &writer)
            }
            writer.field("next", next?.cursor)
        }
    }

    private static func writeSummary(of phone: Installation, to writer: inout JSONWriter) {
        guard case .installation(let id) = phone.subject else { return }
        writer.field("installationId", id)
        if case .user(let user) = phone.recipient { writer.field("userId", user) }
        writer.field("environment", phone.environment?.value.rawValue)
        writer.field("os", phone.os?.value)
        writer.field("appBuild", phone.appBuild?.value)
        writer.field("startTokens", phone.startTokens.count { $0.token != nil })
        writer.field("runningActivities", phone.activities.count { phone.isRunning($0) })
        writer.field("heardAt", phone.lastReportAt)
    }
}
