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
    func countRest(of walk: inout ExpansionWalk) throws(StoreError) {
        let key = walk.expansion.key
        guard walk.expansion.content.event != .start, let group = key.group else {
            walk.expansion.tally.hasEndedEarly = true
            return
        }
        var members = try registry.memberCount(of: group, app: key.app)
        if mayHaveJoined(walk) { members += try joinedCount(of: key) }
        let rest = max(0, members - walk.expansion.tally.targeted)
        walk.expansion.tally.targeted += rest
        walk.expansion.tally.dropped += rest
    }
}
