internal import LiveActivity
internal import Registry
internal import Store

// Most groups are small and have no members in most lanes. Such a lane skips their updates and keeps no row.
// When a member appears, the lane asks the planner for the newest state and expands it.

/// The lane's knowledge of skipped updates.
struct PassedUpdates {
    /// The most remembered groups. Above it all are forgotten and can be asked for again.
    private static let askedMax = 4096

    /// Whether any update can have been skipped.
    private(set) var mayBeSome: Bool
    /// The keys of groups whose state was requested after their last skipped update. An update that is
    /// planned after the request finds members here or is skipped again.
    private var asked: Set<[UInt8]> = []

    init(mayBeSome: Bool) { self.mayBeSome = mayBeSome }

    mutating func pass(_ key: [UInt8]) {
        mayBeSome = true
        asked.remove(key)
    }

    /// Whether the lane must ask for the state of a group. The caller has no row of the group, or a row that
    /// may lack updates.
    mutating func ask(_ key: [UInt8]) -> Bool {
        if !mayBeSome || asked.contains(key) { return false }
        if asked.count >= Self.askedMax { asked.removeAll(keepingCapacity: true) }
        asked.insert(key)
        return true
    }
}

extension Expander {
    /// Whether an expansion has no effect in this lane. An END is never skipped, because older starts may
    /// still arrive.
    mutating func passes(_ expansion: Expansion, under key: [UInt8]) throws(StoreError) -> Bool {
        guard case .group = expansion.targets, let group = expansion.key.group else { return false }
        let scope = try table.scope(key)
        if expansion.isAnswer, let scope, !scope.mayLackUpdates { return true }
        guard expansion.content.event == .update, scope == nil,
            try !registry.hasActivities(of: group, app: expansion.key.app)
        else { return false }
        passing.pass(key)
        return true
    }

    /// Requests the newest state of a group in which a member has appeared.
    mutating func ask(for group: GroupKey, knowing scope: LaneScope?) {
        guard scope?.mayLackUpdates ?? true, passing.ask(group.bytes), let name = group.group else { return }
        output.ask(Enquiry(lane: lane, app: group.app, group: name))
    }
}

extension LaneScope {
    /// The row of a group whose sends this lane has not seen.
    static var unheard: LaneScope {
        var scope = LaneScope()
        scope.mayLackUpdates = true
        return scope
    }
}
