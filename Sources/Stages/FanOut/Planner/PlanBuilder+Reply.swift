internal import Identifiers
internal import Schedules
internal import Sends
internal import Store

// The condition `ifVersion` of a send, and the reply to the gateway that waits for the verdict.

extension PlanBuilder {
    /// Whether the scope has a newer state than the version that the send's caller has seen. A send that the scope holds
    /// is a newer state, although it has no version yet.
    ///
    /// For named users of a shared group, each user's own state counts beside the group's. For named activities, the
    /// newest send to any named activity counts, because only the lanes know the owners.
    func hasNewerState(
        than send: Send, _ row: GroupRow, in table: some GroupTable
    ) throws(StoreError) -> Bool {
        guard let seen = send.ifVersion else { return false }
        if row.version > seen || row.heldSend != nil { return true }
        switch send.audience {
        case .users(let users) where key.recipient == nil:
            for user in users {
                let own = try currentRow(of: key.narrowed(to: .user(user)), in: table)
                if own.version > seen || own.heldSend != nil { return true }
            }
            return false
        case .activities where key.group != nil: return row.laneOnlyVersion > seen
        case .everyone, .segments, .tags, .combination, .group, .users, .activities: return false
        }
    }

    /// Returns the plan's verdict on the send. The plan may also have verdicts on other sends, such as a superseded one.
    func verdict(on send: Send) -> GatewayReply.PlannedVerdict {
        for progress in plan.progress.reversed() where progress.send == send.id {
            if case .planner(let part) = progress.part { return .init(part.verdict, version: part.version) }
        }
        preconditionFailure("each send gets a verdict")
    }

    /// Replies to the gateway, if a request waits for the verdict.
    mutating func reply(to send: Send, with verdict: GatewayReply.PlannedVerdict) {
        plan.reply = send.replyTo.map { Plan.Reply(address: $0, verdict: verdict) }
    }
}
