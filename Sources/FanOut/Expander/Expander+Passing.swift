internal import LiveActivity
internal import Registry
internal import Store

// Most groups are small, and have nobody in most lanes. Such a lane lets their updates pass: it keeps no row of them.
// When somebody comes to the group, it asks the planner for the newest state, which is expanded here once more.

/// What a lane has to know of the updates that it let pass.
struct PassedUpdates {
    /// Beyond it all are forgotten, and asked for again.
    private static let askedMax = 4096

    /// Whether there may be any at all.
    private(set) var mayBeSome: Bool
    /// Groups whose newest state was asked for since an update of theirs has passed, by their keys. What is planned
    /// after the enquiry either finds somebody here or passes, too.
    private var asked: Set<[UInt8]> = []

    init(mayBeSome: Bool) { self.mayBeSome = mayBeSome }

    mutating func pass(_ key: [UInt8]) {
        mayBeSome = true
        asked.remove(key)
    }

    /// Whether there is something to ask for of a group of which the lane has no row, or one that may lack updates.
    mutating func ask(_ key: [UInt8]) -> Bool {
        if !mayBeSome || asked.contains(key) { return false }
        if asked.count >= Self.askedMax { asked.removeAll(keepingCapacity: true) }
        asked.insert(key)
        return true
    }
}

extension Expander {
    /// Whether an expansion has nothing to do in this lane. An end is never passed: older starts may still come.
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

    /// Somebody has come to a group.
    mutating func ask(for group: GroupKey, knowing scope: LaneScope?) {
        guard scope?.mayLackUpdates ?? true, passing.ask(group.bytes), let name = group.group else { return }
        output.ask(Enquiry(lane: lane, app: group.app, group: name))
    }
}

extension LaneScope {
    /// Of a group of whose whole the lane knows nothing.
    static var unheard: LaneScope {
        var scope = LaneScope()
        scope.mayLackUpdates = true
        return scope
    }
}
