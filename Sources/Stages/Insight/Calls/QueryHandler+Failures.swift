internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Jobs
internal import Members

extension QueryHandler {
    /// Answers with the failed pushes of one send, as JSON or as a file.
    func failures(
        for call: InsightQuery, parameters: inout CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        var query = LaneQuery(.failures, app: call.app)
        query.code = try parameters.text("reason")
        query.isOldestFirst = true
        let limit = try parameters.limit(max: Int64(LaneQuery.limitMax))
        // The extra entry shows whether the list continues.
        query.limit = limit + 1
        query.after = try parameters.cursor()
        let format = try parameters.choice("format", of: ["json", "csv"])
        try parameters.checkAllRead()
        guard let id = call.id else { throw .unknown }
        query.names = [id]
        let result = try await ask(query)
        let (listed, next) = ListOrder(isOldestFirst: true).firstPage(
            of: result.failures, cuts: result.cuts, limit: limit)
        let pushes = try await removingErased(listed.map(\.value), app: call.app)
        if format == "csv" {
            // A file has no field that can report a missing lane.
            let missing = missingLanes(in: [result])
            if !missing.isEmpty { throw .partial(missing: missing) }
            return FailureExport(pushes: pushes, next: next).response
        }
        return objectResponse(from: [result]) { writer in
            writer.objects("items", of: pushes) { push, writer in
                push.writeReport(to: &writer)
                writer.field("userId", push.userName)
            }
            writer.field("next", next?.cursor)
        }
    }

    /// Removes pushes that are older than the erasure of their user.
    private func removingErased(
        _ pushes: [TimelinePush], app: String
    ) async throws(CallProblem) -> [TimelinePush] {
        let recipients = Set(pushes.map(\.addressee.recipient)).sorted()
        if recipients.isEmpty { return pushes }
        var query = LaneQuery(.erasures, app: app)
        query.names = recipients
        let erasures = try await ask(query).erasures
        return pushes.filter { push in erasures[push.addressee.recipient].map { push.at > $0 } ?? true }
    }
}

extension TimelinePush {
    var userName: String? {
        if case .user(let name)? = Recipient(text: addressee.recipient) { name } else { nil }
    }
}
