internal import LiveActivity

// The states that return when updates of a scope are cancelled. A cancelled state never returns.

extension GroupRow {
    /// Whether the state was cancelled. Call it on the whole group's row.
    func hasTakenBack(_ state: ScopeState) -> Bool { cancelled.contains { state.comes(from: $0.send) } }

    /// Returns the states that an update of the scope replaces, the newest first. Empty if only the lanes
    /// know the scope's last state. Then the lanes restore it.
    ///
    /// - Parameter whole: the group's row, which knows the cancelled sends.
    func replacedStates(within whole: GroupRow) -> [ScopeState] {
        guard let newest else { return [] }
        let standing = ([newest] + previous).lazy.filter { !whole.hasTakenBack($0) }
        return standing.prefix(Self.previousMax).map(\.reduced)
    }

    /// Returns the states that the cancelled update had replaced, the newest first. Empty if the update is
    /// not the newest any more.
    func restorableStates(from cancel: Cancel, within whole: GroupRow) -> [ScopeState] {
        guard let newest, newest.comes(from: cancel.send), newest.content.event == .update else { return [] }
        return previous.filter { !whole.hasTakenBack($0) }.map(\.reduced)
    }
}

extension ScopeState {
    /// The state without parts that are sent only once, such as an alert or the attributes of a start.
    fileprivate var reduced: ScopeState {
        var reduced = self
        reduced.content = PushContent(.update)
        reduced.content.contentState = content.contentState
        reduced.content.staleDate = content.staleDate
        reduced.content.relevanceScore = content.relevanceScore
        return reduced
    }
}
