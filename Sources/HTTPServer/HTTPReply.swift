internal import Lifecycle

/// The obligation to answer one request, from any thread. Who drops it without sending has forgotten
/// the request: the peer then gets 500.
package final class HTTPReply: Sendable {
    private let slot: ReplySlot

    init(_ slot: ReplySlot) { self.slot = slot }

    deinit {
        let message = "the server lost this request; try again"
        slot.fill(.error(500, "unanswered", message: message))
    }

    /// The first answer counts; a later one, or one after the time for it, goes nowhere.
    package func send(_ response: HTTPResponse) { slot.fill(response) }
}

/// Where an answer waits for the server's thread. Filled once; what is to happen then happens on the
/// filling thread, outside the lock.
final class ReplySlot: Sendable {
    private struct State {
        var response: HTTPResponse?
        var whenFilled: (@Sendable () -> Void)?
    }

    private let state: TracedLock<State>

    init(whenFilled: @escaping @Sendable () -> Void) { state = TracedLock(State(whenFilled: whenFilled)) }

    func fill(_ response: HTTPResponse) {
        let action = state.withLock { state in
            defer { state.whenFilled = nil }
            if state.whenFilled != nil { state.response = response }
            return state.whenFilled
        }
        action?()
    }

    var response: HTTPResponse? { state.withLock { $0.response } }
}
