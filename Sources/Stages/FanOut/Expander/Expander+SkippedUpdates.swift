internal import Payloads
internal import Registry
internal import Sends
internal import Store

// Most groups are small and have no members in most lanes. Such a lane skips their updates and keeps no row.
// When a member appears, the lane asks the planner for the newest state and expands it.

/// The lane's knowledge of skipped updates.
struct SkippedUpdates {
    /// The most remembered groups. Above it all are forgotten and can be asked for again.
    private static let askedMax = 4096

    /// Whether any update can have been skipped.
    private(set) var mayExist: Bool
    /// The keys of groups whose state was requested after their last skipped update. An update that is
    /// planned after the request finds members here or is skipped again.
    private var requestedGroups: Set<[UInt8]> = []

    init(mayExist: Bool) { self.mayExist = mayExist }

    mutating func skip(_ key: [UInt8]) {
        mayExist = true
        requestedGroups.remove(key)
    }

    /// Whether the lane must ask for the state of a group. The caller has no row of the group, or a row that
    /// may lack updates.
    mutating func mustRequestState(of key: [UInt8]) -> Bool {
        if !mayExist || requestedGroups.contains(key) { return false }
        if requestedGroups.count >= Self.askedMax { requestedGroups.removeAll(keepingCapacity: true) }
        requestedGroups.insert(key)
        return true
    }
}

extension Expander {
    /// Whether an expansion has no effect in this lane. An END is never skipped, because older starts may
    /// still arrive.
    mutating func skips(_ expansion: Expansion, under key: [UInt8]) throws(StoreError) -> Bool {
        guard case .group = expansion.targets, let group = expansion.key.group else { return false }
        let scope = try table.scope(for: key)
        if expansion.answersStateRequest, let scope, !scope.mayMissUpdates { return true }
        guard expansion.content.event == .update, scope == nil,
            try !registry.hasActivities(of: group, app: expansion.key.app)
        else { return false }
        skippedUpdates.skip(key)
        return true
    }

    /// Requests the newest state of a group in which a member has appeared.
    mutating func requestState(of group: ScopeKey, knowing scope: LaneScope?) {
        guard scope?.mayMissUpdates ?? true, skippedUpdates.mustRequestState(of: group.bytes),
            let name = group.group
        else { return }
        output.addRequest(GroupStateRequest(lane: lane, app: group.app, group: name))
    }
}

extension LaneScope {
    /// The row of a group whose sends this lane has not seen.
    static var unseen: LaneScope {
        var scope = LaneScope()
        scope.mayMissUpdates = true
        return scope
    }
}
