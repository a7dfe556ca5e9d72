internal import Payloads
package import Sends

// The states that return when updates of a scope are cancelled. A cancelled state never returns.
//
// A scope is a whole group or one recipient of it. Cancelled sends are noted only in the whole group's row, so a
// recipient's row needs that row beside it.

extension GroupRow {
    /// Returns the recipient's last own state. Nil if the group has a newer state or the state was cancelled. The first
    /// state of a recipient's own generation came from the group and stays valid.
    func ownState(within whole: GroupRow) -> ScopeState? {
        guard let newestState, version > whole.version else { return nil }
        return newestState.content.event == .update && whole.cancelledSends.contains(originOf: newestState)
            ? nil : newestState
    }

    /// Returns the states that the scope's next update replaces, the newest first. Without `newestState` there are
    /// none: then only the lanes know the scope's last state, and they restore it.
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

extension SupersededVersions {
    /// The time for which notes name a cancelled send. After it, its jobs are gone from the topics.
    package static let cancelledMilliseconds: Int64 = 86_400_000

    /// Makes the note for senders about a group. Returns nil if there is no group, or no content for a note.
    package init?(_ row: GroupRow, of key: ScopeKey, at stamp: Int64) {
        guard let group = key.group else { return nil }
        let isWhole = key.recipient == nil
        let cancelled = row.cancelledSends.filter { stamp - $0.at < Self.cancelledMilliseconds }.map(\.send)
        self.init(
            app: key.app, group: group, owner: key.recipient, updateVersion: isWhole ? row.updateVersion : 0,
            endVersion: isWhole ? row.endVersion : 0, cancelledSends: cancelled)
        if updateVersion == 0, endVersion == 0, cancelled.isEmpty { return nil }
    }
}
