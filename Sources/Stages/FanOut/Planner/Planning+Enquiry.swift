internal import LiveActivity
internal import Store

extension Planning {
    /// Answers a lane with the last state of the group. Later sends go to this lane as to all others.
    mutating func answer(_ enquiry: Enquiry, in table: some GroupTable) throws(StoreError) {
        guard enquiry.lane < planner.lanes else { return }
        let row = try known(key, in: table)
        guard let newest = row.newest, newest.deadline > now,
            newest.content.event != .update || !row.hasTakenBack(newest)
        else { return }
        var expansion = Expansion(
            send: newest.send, key: key, targets: .group, content: newest.content.saidToWhatIsThere,
            priority: newest.priority, generation: row.generation, version: newest.version,
            deadline: newest.deadline,
            expiration: newest.expiration, acceptedAt: newest.acceptedAt)
        expansion.isAnswer = true
        plan.parts.append(Plan.Part(expansion: expansion, lane: enquiry.lane, isUrgent: false))
    }
}
