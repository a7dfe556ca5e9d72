package import LiveActivity
package import Store

/// Decides what a request of `sends` becomes: its version and generation, which lanes expand it, and what is
/// said about it. It reads and changes rows of a `GroupTable` and does no I/O of its own; the clock is the
/// stamp that the cluster gave the record.
///
/// The order of a group's records in its partition is the order in which they are planned, and a version is
/// given once. So whoever plans a record again, after a crash and from the committed rows, plans the same.
package struct Planner: Sendable {
    package let lanes: Int
    private let lane: @Sendable (_ app: String, _ recipient: Recipient) -> Int

    /// - Parameter lane: where everything about a recipient lies.
    package init(lanes: Int, lane: @escaping @Sendable (_ app: String, _ recipient: Recipient) -> Int) {
        self.lanes = lanes
        self.lane = lane
    }

    /// - Parameters:
    ///   - stamp: milliseconds since 1970 of the record, by the cluster's clock.
    ///   - app: as the catalogue has it; nil when it has none.
    package func plan(
        _ request: SendRequest, stamp: Int64, app: App?, in table: inout some GroupTable
    ) throws(StoreError) -> Plan {
        switch request {
        case .cancel(let cancel): return try plan(cancel, stamp: stamp, in: &table)
        case .send(let send): return try plan(send, stamp: stamp, app: app, in: &table)
        case .enquiry(let enquiry):
            var job = Planning(self, key: enquiry.groupKey, stamp: stamp)
            try job.answer(enquiry, in: table)
            return job.plan
        }
    }

    /// Plans the send that a scope holds, when its time has come. Nothing when it holds none any more.
    ///
    /// - Parameter now: seconds since 1970 by the cluster's clock.
    package func release(_ key: GroupKey, now: Int64, in table: inout some GroupTable) throws(StoreError)
        -> Plan
    {
        var job = Planning(self, key: key, stamp: now * 1000)
        guard let row = try table.row(of: key), let send = row.held else { return job.plan }
        try job.release(send, row, in: &table)
        return job.plan
    }

    private func plan(
        _ send: Send, stamp: Int64, app: App?, in table: inout some GroupTable
    ) throws(StoreError) -> Plan {
        guard let key = send.groupKey else { preconditionFailure("a send without a key was decoded") }
        var job = Planning(self, key: key, stamp: stamp)
        if let fingerprint = send.fingerprint, !send.dryRun {
            if let seen = try table.seen(send.id, app: send.app), seen.isKept(at: stamp) {
                if seen.fingerprint != fingerprint { job.say(.conflict, send) }
                return job.plan
            }
            table.set(SeenSend(fingerprint: fingerprint, at: stamp), send: send.id, app: send.app)
        }
        guard let app else {
            job.say(.unknownApp, send)
            return job.plan
        }
        if job.isExpired(send) {
            job.say(.expired, send)
            return job.plan
        }
        let row = try job.known(key, in: table)
        // Its scheduler and whoever takes it back do not wait for one another. Of any other send the request to take it
        // back lies behind it.
        if send.scheduledAt != nil, row.cancelled.contains(where: { $0.send == send.id }) {
            job.say(.cancelled, send)
            return job.plan
        }
        if isOutdated(send, row) {
            job.say(.outdated, send)
            return job.plan
        }
        let findings = try job.findings(send, of: row, in: app, table)
        if !findings.isEmpty {
            job.say(.refused, send, findings: findings)
            return job.plan
        }
        // A dry run goes the same way, and leaves the rows as they are.
        if send.dryRun {
            var scratch = DryRunTable(table)
            try job.carryOut(send, row, in: &scratch)
            job.plan.keepDryRun()
        } else {
            try job.carryOut(send, row, in: &table)
        }
        return job.plan
    }

    /// From before the group's end, or for a life of the group that is over. A start opens a new one.
    private func isOutdated(_ send: Send, _ row: GroupRow) -> Bool {
        if send.content.event == .start { return false }
        if let generation = send.generation, generation != row.generation { return true }
        return row.hasEnded(since: send.scheduledAt)
    }

    private func plan(_ cancel: Cancel, stamp: Int64, in table: inout some GroupTable) throws(StoreError)
        -> Plan
    {
        guard let key = cancel.groupKey else { preconditionFailure("a cancel without a key was decoded") }
        var job = Planning(self, key: key, stamp: stamp)
        try job.carryOut(cancel, in: &table)
        return job.plan
    }

    func lane(of recipient: Recipient, app: String) -> Int { lane(app, recipient) }
}

/// Reads through, and keeps no change.
private struct DryRunTable<Base: GroupTable>: GroupTable {
    private let base: Base

    init(_ base: Base) { self.base = base }

    func row(of key: GroupKey) throws(StoreError) -> GroupRow? { try base.row(of: key) }
    func seen(_ send: String, app: String) throws(StoreError) -> SeenSend? { try base.seen(send, app: app) }
    mutating func set(_ row: GroupRow, of key: GroupKey) {}
    mutating func set(_ seen: SeenSend, send: String, app: String) {}
}
