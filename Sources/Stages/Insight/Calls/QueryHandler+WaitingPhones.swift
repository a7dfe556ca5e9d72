internal import Identifiers
internal import Jobs
internal import Payloads
internal import Sends

extension QueryHandler {
    /// Sets `waitingForAllow` of the starts of live groups: the number of phones whose start APNs accepted and that
    /// report no running activity.
    ///
    /// - Returns: The results of the queries for the states of the groups and their running activities.
    func addWaitingPhones(
        to summaries: inout [SendSummary], app: String
    ) async throws(CallProblem) -> [QueryResult] {
        let groups = Set(summaries.filter(\.isAcceptedStart).compactMap(\.group))
        if groups.isEmpty { return [] }
        var query = LaneQuery(.groups, app: app)
        query.names = groups.sorted()
        let scopes = try await ask(query)
        query.kind = .running
        let running = try await ask(query)
        for index in summaries.indices where summaries[index].isAcceptedStart {
            guard let group = summaries[index].group, let total = summaries[index].report.total else {
                continue
            }
            // Only the current generation is compared, because the running activities belong to it.
            let isCurrent = scopes.scopes.contains {
                $0.value.key.group == group && $0.value.row.stateName == "live"
                    && $0.value.row.generation == total.generation
            }
            guard isCurrent else { continue }
            summaries[index].waitingForAllow = max(
                0, total.count(of: .accepted) - (running.running[group] ?? 0))
        }
        return [scopes, running]
    }
}

extension SendSummary {
    fileprivate var group: String? { progress.key?.group ?? report.total?.group }

    fileprivate var isAcceptedStart: Bool {
        guard let total = report.total else { return false }
        return total.event == .start && total.count(of: .accepted) > 0
    }
}
