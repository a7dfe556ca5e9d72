import ProcessTesting
import Testing

@testable import FanOut

/// The table of transitions, and its copy in the operator's book.
struct ScopeTransitionsTests {
    @Test func `the book shows the table of transitions`() throws {
        let page = try Repository.text(of: "deploy/book/fan-out.md")
        #expect(page.contains(table), "the page needs this table:\n\(table)")
    }

    @Test func `a token that arrives after an END and before a new start gets the END`() {
        var phase = ScopePhase.unknown
        for event in [ScopeEvent.start, .update, .end] { phase = phase.after(event).phase }
        #expect(phase == .ended)
        let late = phase.after(.lateToken)
        #expect(late == ScopeTransition(phase: .ended, action: .sendNewestEnd))
        #expect(late.phase.after(.start) == ScopeTransition(phase: .open, action: .openGeneration))
        #expect(ScopePhase.open.after(.lateToken).action == .sendNewestState)
    }

    @Test func `only a start opens a scope, and only an END closes it`() {
        for phase in ScopePhase.allCases {
            for event in ScopeEvent.allCases {
                let next = phase.after(event).phase
                let expected: ScopePhase =
                    switch event {
                    case .start: .open
                    case .end: .ended
                    default: phase
                    }
                #expect(next == expected, "\(phase), \(event)")
            }
        }
    }

    @Test func `a send that a newer END has overtaken reaches no phone`() {
        for phase in ScopePhase.allCases {
            for event in [ScopeEvent.overtakenStart, .overtakenUpdate, .overtakenEnd] {
                #expect(phase.after(event).action == .nothing)
            }
        }
    }

    @Test func `each effect has a cell`() {
        let used = ScopePhase.allCases.flatMap { phase in ScopeEvent.allCases.map { phase.after($0).action } }
        #expect(Set(used) == Set(ScopeAction.allCases))
    }

    // MARK: The book's table

    private var table: String {
        let head = ["| event | never started | open | ended |", "|---|---|---|---|"]
        let rows = ScopeEvent.allCases.map { event in
            let cells = ScopePhase.allCases.map { phase in
                let transition = phase.after(event)
                return text(transition.action)
                    + (transition.phase == phase ? "" : "; then \(transition.phase)")
            }
            return "| \(text(event)) | " + cells.joined(separator: " | ") + " |"
        }
        return (head + rows).joined(separator: "\n")
    }

    private func text(_ event: ScopeEvent) -> String {
        switch event {
        case .start: "start"
        case .overtakenStart: "start, older than the newest END"
        case .update: "update"
        case .replacedUpdate: "update, older than the newest update"
        case .overtakenUpdate: "update, older than the newest END"
        case .end: "END"
        case .overtakenEnd: "END, older than the newest END"
        case .cancelOfNewestUpdate: "cancel of the newest update"
        case .cancelOfOlderSend: "cancel of another send"
        case .lateToken: "token after the walk has passed"
        case .lateTokenOfStart: "such a token, and its start carried the newest state"
        case .login: "token after a login"
        case .logout: "token after a logout"
        case .dismissal: "dismissal by the person"
        case .erasure: "erasure of the user"
        }
    }

    private func text(_ action: ScopeAction) -> String {
        switch action {
        case .openGeneration: "phones are started with its state"
        case .joinGeneration: "new phones get the newest state"
        case .sendState: "phones get its state"
        case .endGeneration: "phones get the END"
        case .repeatEnd: "the verdict is `ended`"
        case .refuseUpdate: "the verdict is `ended`"
        case .restoreState: "phones get the state before it"
        case .dropRest: "its pushes are dropped"
        case .sendNewestState: "the newest state, if any"
        case .sendNewestEnd: "the END"
        case .leavePhone: "nothing reaches the phone any more"
        case .excludeFromStarts:
            "no start without `restart`"
        case .forgetTokens: "its tokens are removed"
        case .nothing: "nothing"
        }
    }
}
