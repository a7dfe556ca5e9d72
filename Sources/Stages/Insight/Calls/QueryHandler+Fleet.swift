internal import HTTPServer
internal import JSON
internal import Members

extension QueryHandler {
    /// Answers with the lag of the stages, the members of this stage, and the facts of all processes.
    func fleetReport(for call: InsightQuery, parameters: CallParameters) async throws(CallProblem)
        -> HTTPResponse
    {
        try parameters.checkAllRead()
        let lags = await lagMonitor.lags()
        let members = await fanOut.knownMembers()
        let processes = await fanOut.knownProcesses()
        // If a limit ends the query, the other parts of the report are still useful.
        let result = await fanOut.run(queryWithoutRows(of: call.app))
        return objectResponse(from: [result]) { writer in
            writer.objects("lag", of: lags ?? []) { lag, writer in
                writer.field("stage", lag.stage)
                writer.field("topic", lag.topic)
                writer.field("records", lag.records)
                writer.field("partitions", lag.partitions)
                writer.field("oldestAt", lag.oldestAt)
            }
            writer.field("lagUnknown", lags == nil ? true : nil)
            writer.objects("members", of: members) { member, writer in
                writer.field("stage", member.stage)
                writer.field("process", member.process)
                writer.field("address", member.address)
                writer.field("startedAt", member.startedAt)
                writer.field("heardAt", member.at)
                // None of the lanes that the member has announced has answered.
                let isAway = !member.lanes.isEmpty && Set(member.lanes).isDisjoint(with: result.lanes)
                writer.field("isAway", isAway ? true : nil)
                writer.list("lanes", of: member.lanes) { $1.value($0) }
            }
            ProcessesReport(processes: processes, app: call.app).write(to: &writer)
            writeLanes(of: result, to: &writer)
        }
    }

    /// Answers with the open breakers of an app and the lanes that answer. It tells nothing about the processes, the
    /// network and the other apps of the installation.
    func fleetReportOfApp(
        for call: InsightQuery, parameters: CallParameters
    ) async throws(CallProblem) -> HTTPResponse {
        try parameters.checkAllRead()
        let processes = await fanOut.knownProcesses()
        let result = try await ask(queryWithoutRows(of: call.app))
        return objectResponse(from: [result]) { writer in
            ProcessesReport(processes: processes, app: call.app).writeBreakers(to: &writer)
            writeLanes(of: result, to: &writer)
        }
    }

    /// Returns a query that finds no rows, because it has no names. Its result shows the lanes that answer.
    private func queryWithoutRows(of app: String) -> LaneQuery {
        var query = LaneQuery(.running, app: app)
        query.names = []
        return query
    }

    private func writeLanes(of result: QueryResult, to writer: inout JSONWriter) {
        writer.name("lanes")
        writer.beginObject()
        writer.field("count", lanes)
        writer.field("read", result.lanes.count)
        writer.endObject()
    }
}
