internal import Payloads
internal import Sends

// The states that return when updates of a scope are cancelled. A cancelled state never returns.

extension GroupRow {
    /// Whether the state was cancelled. Call it on the whole group's row.
    func hasCancelled(_ state: ScopeState) -> Bool {
        cancelledSends.contains { state.originates(from: $0.send) }
    }

    /// Returns the states that an update of the scope replaces, the newest first. Empty if only the lanes
    /// know the scope's last state. Then the lanes restore it.
    ///
    /// - Parameter whole: the group's row, which knows the cancelled sends.
    func replacedStates(within whole: GroupRow) -> [ScopeState] {
        guard let newestState else { return [] }
        let standing = ([newestState] + replacedStates).lazy.filter { !whole.hasCancelled($0) }
        return standing.prefix(Self.replacedStatesMax).map(\.restored)
    }

    /// Returns the states that the cancelled update had replaced, the newest first. Empty if the update is
    /// not the newest any more.
    func restorableStates(from cancel: Cancellation, within whole: GroupRow) -> [ScopeState] {
        guard let newestState, newestState.originates(from: cancel.send), newestState.content.event == .update
        else { return [] }
        return replacedStates.filter { !whole.hasCancelled($0) }.map(\.restored)
    }
}
