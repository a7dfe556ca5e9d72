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
/// Records of a group are planned in the order of their partition, and each version is assigned once. So a
/// record that is planned again after a crash, from the committed rows, gets the same plan.
package struct Planner: Sendable {
    package let lanes: Int
    /// The most groups of an app in one partition that lanes have subscribed to and no send has used yet. Beyond it a
    /// subscription is not stored, so the planner does not know which lanes have members of its group. All lanes then get
    /// the sends to groups of the app that have no row.
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
        switch request {
        case .cancellation(let cancel): return try plan(cancel, stamp: stamp, in: &table)
        case .send(let send):
            return try plan(send, stamp: stamp, unboundedStamp: unboundedStamp, app: app, in: &table)
        case .subscription(let subscription):
            var builder = PlanBuilder(self, key: subscription.scopeKey, stamp: stamp)
            try builder.subscribe(subscription, in: &table)
            return builder.plan
        }
    }

    /// Plans the send that a scope holds, when it is due. The plan is empty if the scope holds no send any more.
    ///
    /// - Parameter now: seconds since 1970 by the cluster's clock.
    package func release(_ key: ScopeKey, now: Int64, in table: inout some GroupTable) throws(StoreError)
        -> Plan
    {
        guard let row = try table.row(of: key), let send = row.heldSend else { return Plan() }
        // The stamp of the send's record was not kept, so `now` takes its place. If the stage's clock is behind, a
        // deadline that counts from `now` is too early. Deadlines count from the later of two times, so the time of
        // acceptance is the other one.
        var builder = PlanBuilder(self, key: key, stamp: now * 1000, unboundedStamp: send.acceptedAt)
        try builder.release(send, row, in: &table)
        try builder.recountSubscribedGroup(changedFrom: row, in: &table)
        return builder.plan
    }

    /// Refuses a send that cannot be carried out. This does not use up its idempotency key: a repetition is planned
    /// like a new send.
    package func refuse(_ send: Send, stamp: Int64, because reason: String) -> Plan {
        guard let key = send.scopeKey else { preconditionFailure("a send without a key was decoded") }
        var builder = PlanBuilder(self, key: key, stamp: stamp)
        builder.report(.refused, for: send, findings: [reason])
        builder.reply(to: send, with: builder.verdict(on: send))
        return builder.plan
    }

    private func plan(
        _ send: Send, stamp: Int64, unboundedStamp: Int64?, app: App?, in table: inout some GroupTable
    ) throws(StoreError) -> Plan {
        guard let key = send.scopeKey else { preconditionFailure("a send without a key was decoded") }
        var builder = PlanBuilder(self, key: key, stamp: stamp, unboundedStamp: unboundedStamp)
        builder.reply(to: send, with: try verdict(on: send, of: app, by: &builder, in: &table))
        return builder.plan
    }

    private func verdict(
        on send: Send, of app: App?, by builder: inout PlanBuilder, in table: inout some GroupTable
    ) throws(StoreError) -> GatewayReply.PlannedVerdict {
        let fingerprint = send.isDryRun ? nil : send.fingerprint
        if let fingerprint {
            let seen = try table.seenSend(id: send.id, app: send.app)
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
        try decide(send, of: app, by: &builder, in: &table)
        let planned = builder.verdict(on: send)
        if let fingerprint {
            let row = SendIdempotencyRow(
                fingerprint: fingerprint, writtenAt: builder.stamp, verdict: planned.verdict,
                version: planned.version)
            table.set(row, send: send.id, app: send.app)
        }
        return planned
    }

    /// Decides about a send of a known app that repeats no earlier one.
    private func decide(
        _ send: Send, of app: App, by builder: inout PlanBuilder, in table: inout some GroupTable
    ) throws(StoreError) {
        if builder.isExpired(send) { return builder.report(.expired, for: send) }
        let row = try builder.currentRow(of: builder.key, in: table)
        // The scheduler and a cancel do not wait for each other, so the cancel of a scheduled send can come
        // first. For other sends the cancel always comes later.
        if send.scheduledAt != nil, row.cancelledSends.contains(where: { $0.send == send.id }) {
            return builder.report(.cancelled, for: send)
        }
        if isOutdated(send, row) { return builder.report(.outdated, for: send) }
        if try builder.hasNewerState(than: send, row, in: table) {
            return builder.report(.newerState, for: send)
        }
        let findings = try builder.findings(send, of: row, in: app, table)
        if !findings.isEmpty { return builder.report(.refused, for: send, findings: findings) }
        // A dry run takes the same path, but its changes to rows are dropped.
        if send.isDryRun {
            var scratch = DryRunTable(table)
            try builder.apply(send, to: row, in: &scratch)
            builder.plan.dropEffectsOfDryRun()
        } else {
            try builder.apply(send, to: row, in: &table)
            try builder.recountSubscribedGroup(changedFrom: row, in: &table)
        }
    }

    /// Whether the send is older than the group's END, or for an earlier generation. A start is never
    /// outdated, because it opens a new generation.
    private func isOutdated(_ send: Send, _ row: GroupRow) -> Bool {
        if send.content.event == .start { return false }
        if let generation = send.generation, generation != row.generation { return true }
        return row.hasEnded(since: send.scheduledAt)
    }

    private func plan(
        _ cancel: Cancellation, stamp: Int64, in table: inout some GroupTable
    ) throws(StoreError) -> Plan {
        guard let key = cancel.scopeKey else { preconditionFailure("a cancel without a key was decoded") }
        var builder = PlanBuilder(self, key: key, stamp: stamp)
        let row = try builder.currentRow(of: key, in: table)
        try builder.apply(cancel, in: &table)
        try builder.recountSubscribedGroup(changedFrom: row, in: &table)
        return builder.plan
    }

    func lane(of recipient: Recipient, app: String) -> Int { lane(app, recipient) }
}

/// A table that reads from its base and drops all changes.
private struct DryRunTable<Base: GroupTable>: GroupTable {
    private let base: Base

    init(_ base: Base) { self.base = base }

    func row(of key: ScopeKey) throws(StoreError) -> GroupRow? { try base.row(of: key) }
    func seenSend(id send: String, app: String) throws(StoreError) -> SendIdempotencyRow? {
        try base.seenSend(id: send, app: app)
    }
    func subscribedGroups(of app: String) throws(StoreError) -> SubscribedGroups? {
        try base.subscribedGroups(of: app)
    }
    mutating func set(_ row: GroupRow, of key: ScopeKey) {}
    mutating func set(_ seen: SendIdempotencyRow, send: String, app: String) {}
    mutating func set(_ groups: SubscribedGroups, of app: String) {}
}
