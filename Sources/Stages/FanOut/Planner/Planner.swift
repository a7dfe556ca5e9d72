package import CatalogRecords
package import Identifiers
internal import Payloads
internal import Schedules
package import Sends
package import Store

/// The decisions about a request of `sends`: its version and generation, the lanes that expand it, and the progress
/// that is reported about it. The planner reads and changes rows of a `GroupTable` and does no I/O. Its clock is the
/// cluster's stamp on the record.
///
/// Records of a group are planned in the order of their partition, and each version is assigned once. So a record that
/// is planned again after a crash, from the committed rows, gets the same plan.
package struct Planner: Sendable {
    package let lanes: Int
    /// The most groups of an app in one partition that lanes have subscribed to and no send has used yet. Beyond it a
    /// subscription is not stored, so the planner does not know which lanes have members of its group. All lanes then
    /// get the sends to groups of the app that have no row.
    let subscribedGroupsMax: Int
    private let lane: @Sendable (_ app: String, _ recipient: Recipient) -> Int

    /// - Parameter lane: returns the lane of a recipient.
    package init(
        lanes: Int, subscribedGroupsMax: Int = FanOutSettings().subscribedGroupsMax,
        lane: @escaping @Sendable (_ app: String, _ recipient: Recipient) -> Int
    ) {
        self.lanes = lanes
        self.subscribedGroupsMax = subscribedGroupsMax
        self.lane = lane
    }

    /// - Parameters:
    ///   - stamp: the record's time by the cluster's clock, in milliseconds since 1970.
    ///   - unboundedStamp: the time that the broker wrote into the record. `stamp` is lower if the broker's clock was
    ///     ahead of the stage's clock. Nil if both are the same.
    ///   - app: the app from the catalog. Nil if the catalog does not have it.
    package func plan(
        _ request: SendRequest, stamp: Int64, unboundedStamp: Int64? = nil, app: App?,
        in table: inout some GroupTable
    ) throws(StoreError) -> Plan {
        guard let key = request.scopeKey else { preconditionFailure("a request without a key was decoded") }
        var builder = PlanBuilder(self, key: key, stamp: stamp, unboundedStamp: unboundedStamp, in: table)
        switch request {
        case .send(let send): builder.reply(to: send, with: try verdict(on: send, of: app, by: &builder))
        case .cancellation(let cancel): try builder.cancel(cancel)
        case .subscription(let subscription): try builder.subscribe(subscription)
        }
        table = builder.table
        return builder.plan
    }

    /// Plans the send that a scope holds, when it is due. The plan is empty if the scope holds no send any more.
    ///
    /// - Parameter now: seconds since 1970 by the cluster's clock.
    package func release(_ key: ScopeKey, now: Int64, in table: inout some GroupTable) throws(StoreError)
        -> Plan
    {
        guard let row = try table.row(of: key), let send = row.heldSend, let scopeKey = send.scopeKey else {
            return Plan()
        }
        // The stamp of the send's record was not kept, so `now` takes its place. If the stage's clock is behind, a
        // deadline that counts from `now` is too early. Deadlines count from the later of two times, so the time of
        // acceptance is the other one.
        var builder = PlanBuilder(
            self, key: scopeKey, stamp: now * 1000, unboundedStamp: send.acceptedAt, in: table)
        if let recipient = key.recipient, scopeKey.recipient == nil {
            try builder.release(send, of: recipient, heldIn: row)
        } else {
            try builder.release(heldIn: row)
        }
        table = builder.table
        return builder.plan
    }

    /// Refuses a send that cannot be carried out. This does not use up its idempotency key: a repetition is planned
    /// like a new send.
    package func refuse(_ send: Send, stamp: Int64, because reason: String, in table: some GroupTable) -> Plan
    {
        guard let key = send.scopeKey else { preconditionFailure("a send without a key was decoded") }
        var builder = PlanBuilder(self, key: key, stamp: stamp, in: table)
        builder.report(.refused, for: send, findings: [reason])
        builder.reply(to: send, with: builder.verdict(on: send))
        return builder.plan
    }

    private func verdict(
        on send: Send, of app: App?, by builder: inout PlanBuilder<some GroupTable>
    ) throws(StoreError) -> GatewayReply.PlannedVerdict {
        let fingerprint = send.isDryRun ? nil : send.fingerprint
        if let fingerprint {
            let seen = try builder.table.seenSend(id: send.id, app: send.app)
            switch Idempotency.compare(fingerprint: fingerprint, with: seen, at: builder.stamp) {
            case .isNew: break
            // A repetition gets the verdict on the first request, because that request's answer may be lost.
            case .repeats(let first): return .init(first.verdict, version: first.version)
            case .conflicts:
                builder.report(.conflict, for: send)
                return builder.verdict(on: send)
            }
        }
        guard let app else {
            // An unknown app does not use up the key. This process may have read the catalog too late, and then the
            // caller's repetition is the request that counts.
            builder.report(.unknownApp, for: send)
            return builder.verdict(on: send)
        }
        try decide(send, of: app, by: &builder)
        let planned = builder.verdict(on: send)
        if let fingerprint {
            let row = SendIdempotencyRow(
                fingerprint: fingerprint, writtenAt: builder.stamp, verdict: planned.verdict,
                version: planned.version)
            builder.table.set(row, send: send.id, app: send.app)
        }
        return planned
    }

    /// Decides about a send of a known app that repeats no earlier one.
    private func decide(
        _ send: Send, of app: App, by builder: inout PlanBuilder<some GroupTable>
    ) throws(StoreError) {
        if builder.isExpired(send) { return builder.report(.expired, for: send) }
        try builder.readRow()
        // The scheduler and a cancel do not wait for each other, so the cancel of a scheduled send can come first. For
        // other sends the cancel always comes later.
        if send.scheduledAt != nil, builder.row.cancelledSends.contains(where: { $0.send == send.id }) {
            return builder.report(.cancelled, for: send)
        }
        if isOutdated(send, builder.row) { return builder.report(.outdated, for: send) }
        if try builder.hasNewerState(than: send) { return builder.report(.newerState, for: send) }
        let findings = try builder.findings(send, in: app)
        if !findings.isEmpty { return builder.report(.refused, for: send, findings: findings) }
        try builder.apply(send)
        // A dry run takes the same path, but it changes no row.
        if send.isDryRun { builder.plan.dropEffectsOfDryRun() } else { try builder.writeRow() }
    }

    /// Whether the send is older than the group's END, or for an earlier generation. A start is never outdated, because
    /// it opens a new generation.
    private func isOutdated(_ send: Send, _ row: GroupRow) -> Bool {
        if send.content.event == .start { return false }
        if let generation = send.generation, generation != row.generation { return true }
        return row.hasEnded(since: send.scheduledAt)
    }

    func lane(of recipient: Recipient, app: String) -> Int { lane(app, recipient) }
}

/// The planner's rows while it plans: the committed rows with its changes on top. Only reads from disk can fail.
package protocol GroupTable {
    func row(of key: ScopeKey) throws(StoreError) -> GroupRow?
    func seenSend(id send: String, app: String) throws(StoreError) -> SendIdempotencyRow?
    func subscribedGroups(of app: String) throws(StoreError) -> SubscribedGroups?
    mutating func set(_ row: GroupRow, of key: ScopeKey)
    mutating func set(_ seen: SendIdempotencyRow, send: String, app: String)
    mutating func set(_ groups: SubscribedGroups, of app: String)
}
