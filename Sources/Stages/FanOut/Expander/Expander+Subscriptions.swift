internal import Payloads
internal import Registry
package import Sends
package import Store

// A lane subscribes to a group when the first member appears in it. From then on the group's sends reach the lane, and
// the planner's answer brings the state that the group already has.

extension Expander {
    /// Returns the lane's row of a group with a member, and subscribes to the group if the lane has not done so, or
    /// long ago.
    mutating func subscribedScope(of key: ScopeKey, named group: String) throws(StoreError) -> LaneScope {
        var scope = try table.scope(for: key.bytes) ?? .unsubscribed
        switch scope.subscription {
        case .missing: scope.subscription = .requested
        case .requested, .answered:
            // The planner forgets members some time after the last subscription and the last send.
            if now - scope.writtenAt < LaneScope.subscriptionMilliseconds { return scope }
        }
        set(scope, under: key.bytes)
        output.add(Subscription(lane: lane, app: key.app, group: group))
        return scope
    }

    /// Subscribes to a group with a member that was known before, unless the lane has its row.
    package mutating func subscribe(to group: String, of app: String) throws(StoreError) {
        _ = try subscribedScope(of: ScopeKey(app: app, group: group), named: group)
    }

    /// Takes the answer to a subscription, if the group has no state to send.
    package mutating func apply(_ answer: SubscriptionAnswer) throws(StoreError) {
        let key = answer.key.bytes
        var scope = try table.scope(for: key) ?? .unsubscribed
        scope.subscription = .answered
        scope.generation = max(scope.generation, answer.generation)
        scope.endVersion = max(scope.endVersion, answer.endVersion)
        set(scope, under: key)
    }

    /// Whether an expansion has no effect in this lane: an update of a group without members here, or an answer that
    /// the lane does not need any more. An END is never skipped, because older starts may still arrive.
    func skips(_ expansion: Expansion, under scopeKey: [UInt8]) throws(StoreError) -> Bool {
        guard let group = expansion.key.group else { return false }
        switch expansion.targets {
        case .everyone, .segments, .tags, .combination, .recipients, .activities: return false
        case .newMembers: if try table.scope(for: scopeKey)?.subscription == .answered { return true }
        case .group: break
        }
        guard expansion.content.event == .update, try table.scope(for: scopeKey) == nil else { return false }
        return try !registry.hasActivities(of: group, app: expansion.key.app)
    }
}

extension LaneScope {
    /// The time after which a lane subscribes again when a member reports. The planner remembers members for longer:
    /// for this time, the life of the member, and a day in which the planner or the lane is behind.
    static let subscriptionMilliseconds = GroupRow.membershipMilliseconds / 4

    /// The longest life of an activity on a phone: eight hours, and four more on the lock screen.
    static let activityMilliseconds: Int64 = 12 * 3_600_000

    /// The row of a group to which the lane has not subscribed, so earlier sends of the group may not have reached the
    /// lane.
    static var unsubscribed: LaneScope {
        var scope = LaneScope()
        scope.subscription = .missing
        return scope
    }
}
