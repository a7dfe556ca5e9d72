internal import Identifiers
internal import Payloads
internal import Registry
internal import Sends

/// The newest state that applies to an activity, from all its scopes. A late token of the activity gets it.
struct NewestState {
    let key: ScopeKey
    let scope: LaneScope
    let state: ScopeState
    /// The activity's generation, as far as the lane knows.
    let generation: Int64
    let phase: ScopePhase
    let endVersion: Int64

    /// Returns nil if `ScopeTransitions` has no state for the event, or if no scope has such a state.
    init?(_ activity: ActivityScopes, for event: ScopeEvent) {
        (generation, endVersion) = (activity.generation, activity.endVersion)
        phase = ScopePhase(start: generation, end: endVersion)
        let action = phase.after(event).action
        guard action == .sendNewestState || action == .sendNewestEnd else { return nil }
        let cancelled = Set(activity.all.flatMap(\.scope.cancelledSends))
        var newest: (key: ScopeKey, scope: LaneScope, state: ScopeState)?
        for (key, scope) in activity.all {
            guard let state = scope.standing(without: cancelled) else { continue }
            let isEnd = state.content.event == .end
            let applies = action == .sendNewestEnd ? isEnd : !isEnd && state.version >= generation
            if applies, state.version > newest?.state.version ?? .min { newest = (key, scope, state) }
        }
        guard let newest else { return nil }
        (key, scope, state) = newest
    }

    /// Whether the walk of the state's send is open and will still reach the row, so that it brings the state.
    ///
    /// - Parameter isJoined: whether the row's activity has joined the group without reporting it.
    func walkWillReach(_ row: borrowing TokenPageRow, isJoined: Bool) -> Bool {
        guard let walk = scope.walk, walk.version == state.version,
            let cursor = PageCursor(walkBytes: walk.cursor)
        else { return false }
        guard isJoined, let activity = row.activity else { return cursor.willVisit(row) }
        return cursor.willVisit(JoinedActivity(id: activity).position)
    }
}

/// The rows of a lane that decide about one activity.
struct ActivityScopes {
    /// The rows of the group, of the recipient in it, of the state that a send has left for the activity before its
    /// token was known, and of the activity without a group, as far as they exist.
    private(set) var all: [(key: ScopeKey, scope: LaneScope)] = []
    /// The newest generation and the newest END of all rows.
    private(set) var generation: Int64 = 0
    private(set) var endVersion: Int64 = 0
    var whole: LaneScope?
    var own: LaneScope?
    /// The key of the recipient's row in the group. Nil without a group.
    var ownKey: ScopeKey?
    /// The version of the state that a send has left for the activity before its token was known.
    var keptVersion: Int64?

    mutating func add(_ scope: LaneScope, under key: ScopeKey) {
        all.append((key, scope))
        generation = max(generation, scope.generation)
        endVersion = max(endVersion, scope.endVersion)
    }
}

extension ScopeEvent {
    /// The event of a changed row of the registry. Nil if the row has no token.
    init?(of row: borrowing TokenPageRow) {
        if row.token.isEmpty { return nil }
        if row.hasMovedAway {
            self = .logout
        } else {
            self = row.movedAt == nil ? .lateToken : .login
        }
    }
}
