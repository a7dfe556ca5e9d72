internal import Payloads
internal import Sends

// The part of a content that phones keep showing: the content state, the stale date and the relevance score. An alert, the
// attributes of a start and a dismissal are sent only once.

extension PushContent {
    /// An update with the state of this content.
    var stateUpdate: PushContent {
        var update = PushContent(.update)
        update.contentState = contentState
        update.staleDate = staleDate
        update.relevanceScore = relevanceScore
        return update
    }

    /// The content for an activity that already exists. A start becomes an update with the start's state.
    var forExistingActivity: PushContent { event == .start ? stateUpdate : self }

    /// Replaces the content's state, so that a recipient that starts later shows the same as the others.
    mutating func replaceState(with state: ScopeState) {
        contentState = state.content.contentState ?? contentState
        staleDate = state.content.staleDate
        relevanceScore = state.content.relevanceScore ?? relevanceScore
    }
}

extension ScopeState {
    /// The state for a later send, which restores it.
    var restored: ScopeState {
        var state = self
        state.content = content.stateUpdate
        return state
    }
}
