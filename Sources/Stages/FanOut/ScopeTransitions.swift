internal import Payloads
internal import Sends

// The one table that decides what an event does to a scope. A scope is a whole group, or one recipient. The sends to
// the group count for the recipient, too. The planner reads the table when it plans a send, and a lane when it reads
// that send or a token. The page `deploy/book/fan-out.md` shows the table, and a test compares the two.

/// The phase of a scope, from its newest start and its newest END.
enum ScopePhase: CaseIterable {
    /// No start and no END was seen. The app may have begun the activity itself.
    case unknown
    case open
    case ended

    /// - Parameters:
    ///   - start: the version of the newest start, or 0. The caller chooses whose sends count: the group's, the
    ///     recipient's, or both.
    ///   - end: the version of the newest END, or 0.
    init(start: Int64, end: Int64) {
        self = start > end ? .open : end > 0 ? .ended : .unknown
    }
}

/// An event of a scope. Planner and lanes begin the sends of a scope in one order: each is a `start`, an `update` or an
/// `end`. When the walk of a send comes to a recipient, a newer send may have begun, and has then overtaken it.
enum ScopeEvent: CaseIterable {
    case start
    /// A start that is older than the scope's newest END.
    case overtakenStart
    case update
    /// An update that is older than the newest update of the scope, and may be replaced by it.
    case replacedUpdate
    /// An update that is older than the scope's newest END.
    case overtakenUpdate
    case end
    /// An END that is older than the scope's newest END.
    case overtakenEnd
    case cancelOfNewestUpdate
    case cancelOfOlderSend
    /// The first token of an activity, or a new one, after the walk of the newest send has passed.
    case lateToken
    /// Such a token of an activity whose start carried the newest state.
    case lateTokenOfStart
    /// A token of an installation that came from another recipient, for example at a login.
    case login
    /// A token of an installation that went to another recipient, for example at a logout.
    case logout
    /// A person removed the activity from the lock screen.
    case dismissal
    case erasure

    /// The event of a send that arrives in the order of the scope.
    init(_ event: PushEvent) {
        switch event {
        case .start: self = .start
        case .update: self = .update
        case .end: self = .end
        }
    }
}

/// The effect of an event.
enum ScopeAction: CaseIterable {
    /// The start opens a generation with its own state.
    case openGeneration
    /// The start adds recipients to the open generation. They get the newest state of the scope.
    case joinGeneration
    /// Phones get the state of the update.
    case sendState
    /// Phones get the END, and the generation is closed.
    case endGeneration
    /// The scope has ended already. The planner refuses the END. A lane sees this action in one more case: it has noted
    /// the END itself in a recipient's row before the walk came to the recipient. Then phones get the END.
    case repeatEnd
    /// Phones get nothing. The planner refuses the update, and a lane leaves the recipient out.
    case refuseUpdate
    /// The rest of the cancelled send is dropped, and phones get the state before it.
    case restoreState
    /// The rest of the cancelled send is dropped.
    case dropRest
    /// The phone gets the newest state of the scope, if there is one.
    case sendNewestState
    /// The phone gets the newest END.
    case sendNewestEnd
    /// The recipient's sends no longer reach the phone.
    case leavePhone
    /// Starts of this generation no longer reach the phone, unless they force a restart.
    case excludeFromStarts
    /// The tokens are removed, so nothing reaches the phone.
    case forgetTokens
    case nothing
}

/// One cell of the table.
struct ScopeTransition: Equatable {
    let phase: ScopePhase
    let action: ScopeAction
}

extension ScopePhase {
    func after(_ event: ScopeEvent) -> ScopeTransition {
        switch (event, self) {
        case (.start, .unknown), (.start, .ended): ScopeTransition(phase: .open, action: .openGeneration)
        case (.start, .open): stay(.joinGeneration)
        case (.update, .unknown), (.update, .open): stay(.sendState)
        case (.update, .ended): stay(.refuseUpdate)
        case (.end, .unknown), (.end, .open): ScopeTransition(phase: .ended, action: .endGeneration)
        case (.end, .ended): stay(.repeatEnd)
        case (.overtakenStart, _), (.replacedUpdate, _), (.overtakenUpdate, _), (.overtakenEnd, _):
            stay(.nothing)
        case (.cancelOfNewestUpdate, .unknown), (.cancelOfNewestUpdate, .open): stay(.restoreState)
        // The END is the newest state, and a cancel does not open the scope again.
        case (.cancelOfNewestUpdate, .ended), (.cancelOfOlderSend, _): stay(.dropRest)
        // `lateTokenOfStart` never meets `unknown`, because its start has opened the scope.
        case (.lateToken, .unknown), (.lateToken, .open), (.login, .unknown), (.login, .open),
            (.lateTokenOfStart, .unknown):
            stay(.sendNewestState)
        case (.lateToken, .ended), (.login, .ended), (.lateTokenOfStart, .ended): stay(.sendNewestEnd)
        case (.lateTokenOfStart, .open): stay(.nothing)
        case (.logout, _): stay(.leavePhone)
        case (.dismissal, .unknown), (.dismissal, .open): stay(.excludeFromStarts)
        case (.dismissal, .ended): stay(.nothing)
        case (.erasure, _): stay(.forgetTokens)
        }
    }

    private func stay(_ action: ScopeAction) -> ScopeTransition {
        ScopeTransition(phase: self, action: action)
    }

    /// The effect of a send that arrives in the order of the scope.
    func action(of event: PushEvent) -> ScopeAction { after(ScopeEvent(event)).action }
}

// MARK: The rows of the planner

extension ScopePhase {
    /// The phase of a whole group, or of a private group's owner.
    init(_ row: GroupRow) { self.init(start: row.generation, end: row.endVersion) }

    /// The phase of one recipient in a group.
    init(own: GroupRow, whole: GroupRow) {
        self.init(start: max(own.generation, whole.generation), end: max(own.endVersion, whole.endVersion))
    }
}
