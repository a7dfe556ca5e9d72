internal import Payloads
internal import Registry
internal import Sends
internal import Store

// The early end of a walk. If a newer send of the same whole scope makes the rest of a walk useless, the rest is
// counted and not walked. Otherwise updates that come faster than their walks would delay each other without limit.

extension LaneScope {
    /// Whether the scope's newest send ends the walk of an expansion. Then no recipient would get the expansion any
    /// more. In doubt it is false, and each recipient is decided separately.
    func endsWalk(of expansion: Expansion) -> Bool {
        guard expansion.isConflatable, expansion.key.group != nil, !expansion.isDryRun,
            !expansion.isCancelled(by: self),
            let newest = newestState, newest.isConflatable, !cancelledSends.contains(newest.send)
        else { return false }
        switch (expansion.content.event, newest.content.event) {
        // An END and a start are never superseded by an update, and a start supersedes no update of an existing
        // activity.
        case (.end, _), (_, .start), (.start, .update): return false
        // An END in a lane has no deadline, because no later send replaces it.
        case (.start, .end): return newest.version > expansion.generation
        case (.update, .end): return newest.version > expansion.version
        case (.update, .update):
            return newest.version > expansion.version && newest.deadline >= expansion.deadline
        }
    }
}

extension Expander {
    /// Counts the members that a walk has not visited, because it ends early. The members of a segment are not known
    /// without a walk, so a start only notes that it did not visit all of them.
    mutating func countRest(of walk: inout ExpansionWalk, in whole: LaneScope) throws(StoreError) {
        guard walk.expansion.content.event != .start, let group = walk.expansion.key.group else {
            walk.expansion.tally.hasEndedEarly = true
            return
        }
        var members = try registry.memberCount(of: group, app: walk.expansion.key.app)
        if mayHaveJoined(walk, whole) { members += try joinedCount(of: walk.expansion.key) }
        let rest = max(0, members - walk.expansion.tally.targeted)
        walk.expansion.tally.targeted += rest
        walk.expansion.tally.dropped += rest
    }

    /// Returns the number of the activities that have joined the group, and that are still in the registry without a
    /// group.
    private func joinedCount(of group: ScopeKey) throws(StoreError) -> Int {
        var count = 0
        var range = KeyRange.everything
        while true {
            let joined = try table.joinedActivities(of: group, in: range, countMax: Self.joinedAtATimeMax)
            count += try registry.countOfActivitiesWithoutGroup(among: joined.map(\.id), app: group.app)
            guard joined.count == Self.joinedAtATimeMax, let last = joined.last else { return count }
            range.advance(past: last.position.span)
        }
    }
}
