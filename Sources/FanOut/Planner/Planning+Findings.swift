internal import LiveActivity
internal import Store

// Why a send is refused: what no gateway could know, as it has no rows.

extension Planning {
    func findings(
        _ send: Send, of row: GroupRow, in app: App, _ table: some GroupTable
    ) throws(StoreError) -> [String] {
        if let problem = GroupKeyLength.problem(of: send) { return [problem] }
        let findings =
            send.content.event == .start
            ? try findings(ofStart: send, row, in: table) : findings(ofWord: send, row, in: app)
        return Array(findings.prefix(Progress.findingsMax))
    }

    /// What the type that the group was started with says of an update: where an app has several, it need not name
    /// its own.
    private func findings(ofWord send: Send, _ row: GroupRow, in app: App) -> [String] {
        guard let type = row.attributesType else { return [] }
        return PayloadRules(now: now, type: app.type(type))
            .violations(in: send.content, attributesBytes: row.attributesBytes).map(\.description)
    }

    /// Who joins a life gets what the others were told: their phones must be able to take it.
    private func findings(
        ofStart send: Send, _ row: GroupRow, in table: some GroupTable
    ) throws(StoreError) -> [String] {
        guard ScopeLife(row) == .open else { return [] }
        if let type = row.attributesType, let own = send.content.attributesType, own != type {
            return [
                "attributes-type is \(own), and the group was started with \(type), whose state it would get; end the group first, or start another"
            ]
        }
        // The gateway has looked at all else, with the state that the start came with.
        return PayloadRules(now: now).violations(in: try joined(send, row, in: table))
            .filter { $0.rule == .tooLarge }
            .map {
                "\($0.description); it has the newest state of who is there, so shorten the attributes or the alert, or send a shorter update before"
            }
    }

    /// What a start for named users asks for and does not get.
    func findings(ofPlanned start: Send, _ row: GroupRow) -> [String] {
        guard let endDate = start.endDate, endDate != row.endDate else { return [] }
        let end = row.endDate.map { "at \($0)" } ?? "when an end says so"
        return [
            "end-date is left out: who is named joins the group, and that ends for everybody \(end)"
        ]
    }

    private func joined(
        _ send: Send, _ row: GroupRow, in table: some GroupTable
    ) throws(StoreError) -> PushContent {
        var content = send.content
        if let newest = row.newest, !row.hasTakenBack(newest) { content.say(newest) }
        if case .users(let users) = send.audience, users.count == 1, key.recipient == nil {
            let own = try known(key.of(.user(users[0])), in: table)
            if let state = own.ownState(within: row) { content.say(state) }
        }
        return content
    }
}
