internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Sends
internal import Store

// The reasons to refuse a send that need the planner's rows, so that no gateway can know them.

extension PlanBuilder {
    func findings(
        _ send: Send, of row: GroupRow, in app: App, _ table: some GroupTable
    ) throws(StoreError) -> [String] {
        if let problem = GroupKeyLength.problem(of: send) { return [problem] }
        if let problem = NamedActivityCopies.problem(of: send.audience, lanes: planner.lanes) {
            return ["audience: \(problem)"]
        }
        let findings =
            send.content.event == .start
            ? try findings(ofStart: send, row, in: table) : findings(ofUpdate: send, row: row, in: app)
        return Array(findings.prefix(ProgressRecord.findingsMax))
    }

    /// Checks an update against the activity type with which the group was started. An app with several types
    /// need not name the type in an update.
    private func findings(ofUpdate send: Send, row: GroupRow, in app: App) -> [String] {
        guard let type = row.attributesType else { return [] }
        return PayloadRules(now: now, type: app.activityType(named: type))
            .violations(in: send.content, attributesBytes: row.attributesBytes).map(\.description)
    }

    /// Checks a start that joins an open generation. Its phones get the newest state of the group, so that
    /// state must fit into the start.
    private func findings(
        ofStart send: Send, _ row: GroupRow, in table: some GroupTable
    ) throws(StoreError) -> [String] {
        guard ScopePhase(row).action(of: .start) == .joinGeneration else { return [] }
        if let type = row.attributesType, let own = send.content.attributesType, own != type {
            return [
                "attributes-type is \(own), but the group was started with \(type), and this start would get that type's state; end the group first, or start another group"
            ]
        }
        // The gateway has checked everything else, with the state of the request.
        return PayloadRules(now: now).violations(in: try contentOfJoiningStart(send, row, in: table))
            .filter { $0.rule == .tooLarge }
            .map {
                "\($0.description); it carries the newest state of the group, so shorten the attributes or the alert, or send a shorter update first"
            }
    }

    /// Returns findings about parts of a start for named users that have no effect.
    func findings(ofPlanned start: Send, _ row: GroupRow) -> [String] {
        guard let endDate = start.endDate, endDate != row.endDate else { return [] }
        let end = row.endDate.map { "at \($0)" } ?? "with its next END"
        return [
            "end-date is ignored: named users join the group, and the group ends for all members \(end)"
        ]
    }

    /// Returns the content of a start with the newest state, as its phones get it.
    private func contentOfJoiningStart(
        _ send: Send, _ row: GroupRow, in table: some GroupTable
    ) throws(StoreError) -> PushContent {
        var content = send.content
        if let newest = row.newestState, !row.cancelledSends.contains(originOf: newest) {
            content.replaceState(with: newest)
        }
        if case .users(let users) = send.audience, users.count == 1, key.recipient == nil {
            let own = try currentRow(of: key.narrowed(to: .user(users[0])), in: table)
            if let state = own.ownState(within: row) { content.replaceState(with: state) }
        }
        return content
    }
}
