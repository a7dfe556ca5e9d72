internal import LiveActivity

// What comes back when updates of a scope are taken back: never what was taken back itself.

extension GroupRow {
    /// Whether what the state says of the group's scopes was taken back; this is the whole group's row.
    func hasTakenBack(_ state: ScopeState) -> Bool { cancelled.contains { state.comes(from: $0.send) } }

    /// What an update of the scope takes the place of, the newest first. Nothing where only the lanes know what the
    /// scope was told last: they bring that back.
    ///
    /// - Parameter whole: knows what was taken back.
    func replacedStates(within whole: GroupRow) -> [ScopeState] {
        guard let newest else { return [] }
        let standing = ([newest] + previous).lazy.filter { !whole.hasTakenBack($0) }
        return standing.prefix(Self.previousMax).map(\.reduced)
    }

    /// What the update that is taken back had taken the place of, the newest first, while nothing has taken its own.
    func restorableStates(from cancel: Cancel, within whole: GroupRow) -> [ScopeState] {
        guard let newest, newest.comes(from: cancel.send), newest.content.event == .update else { return [] }
        return previous.filter { !whole.hasTakenBack($0) }.map(\.reduced)
    }
}

extension ScopeState {
    /// Without what is said only once, like an alert or the attributes of a start.
    fileprivate var reduced: ScopeState {
        var reduced = self
        reduced.content = PushContent(.update)
        reduced.content.contentState = content.contentState
        reduced.content.staleDate = content.staleDate
        reduced.content.relevanceScore = content.relevanceScore
        return reduced
    }
}
