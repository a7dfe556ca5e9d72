internal import Payloads
internal import Sends

// The states that return when updates of a scope are cancelled. A cancelled state never returns.
//
// A scope is a whole group or one recipient of it. Cancelled sends are noted only in the whole group's row, so a
// recipient's row needs that row beside it.

extension GroupRow {
    /// Returns the states that the scope's next update replaces, the newest first. Without `newestState` there are none:
    /// then only the lanes know the scope's last state, and they restore it.
    ///
    /// - Parameter whole: the group's row.
    func statesThatNextUpdateReplaces(exceptCancelledIn whole: GroupRow) -> [ScopeState] {
        guard let newestState else { return [] }
        let standing = ([newestState] + replacedStates).lazy
            .filter { !whole.cancelledSends.contains(originOf: $0) }
        return standing.prefix(Self.replacedStatesMax).map(\.restored)
    }

    /// Returns the states that the cancelled update had replaced, the newest first. There are none if the scope has a
    /// newer state, or if the newest is not an update.
    ///
    /// - Parameter whole: the group's row.
    func restorableStates(from cancel: Cancellation, exceptCancelledIn whole: GroupRow) -> [ScopeState] {
        guard let newestState, newestState.originates(from: cancel.send), newestState.content.event == .update
        else { return [] }
        return replacedStates.filter { !whole.cancelledSends.contains(originOf: $0) }.map(\.restored)
    }
}

extension [GroupRow.CancelledSend] {
    /// Whether the send that first had a state is among these.
    func contains(originOf state: ScopeState) -> Bool {
        contains { state.originates(from: $0.send) }
    }
}
