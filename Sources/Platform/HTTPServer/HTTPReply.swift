internal import Lifecycle

/// The duty to answer one request, from any thread. If the last reference is dropped without an answer, the
/// peer gets 500.
package final class HTTPReply: Sendable {
    private let slot: ReplySlot

    init(_ slot: ReplySlot) { self.slot = slot }

    deinit {
        let message = "the server lost this request; try again"
        slot.fill(.error(500, "unanswered", message: message))
    }

    /// Sends the answer. Only the first answer counts. A later one, or one after the time limit, is dropped.
    package func send(_ response: HTTPResponse) { slot.fill(response) }
}

/// The slot in which an answer waits for the server's thread. It is filled once. The action then runs on the
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
