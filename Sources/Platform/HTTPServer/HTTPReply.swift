internal import Lifecycle

/// A handle with which a deferred handler answers one request, from any thread. If the last reference is
/// released without an answer, the peer gets 500.
package final class HTTPReply: Sendable {
    private let slot: ReplySlot

    init(slot: ReplySlot) { self.slot = slot }

    deinit {
        let message = "the server lost this request; try again"
        slot.fill(with: .error(status: 500, code: "unanswered", message: message))
    }

    /// Sends the answer. Only the first answer counts. A later one, or one after the time limit, is dropped.
    package func send(_ response: HTTPResponse) { slot.fill(with: response) }
}

/// A slot for the answer to one suspended request. The first answer fills it, and calls `onFilled` on the
/// calling thread, outside the lock. The connection's thread then reads the answer.
final class ReplySlot: Sendable {
    private struct SlotState {
        var response: HTTPResponse?
        /// Nil after the slot was filled.
        var onFilled: (@Sendable () -> Void)?
    }

    private let state: TracedLock<SlotState>

    init(onFilled: @escaping @Sendable () -> Void) { state = TracedLock(SlotState(onFilled: onFilled)) }

    /// Fills the slot, if it is empty.
    func fill(with response: HTTPResponse) {
        let onFilled = state.withLock { state -> (@Sendable () -> Void)? in
            guard let onFilled = state.onFilled else { return nil }
            state.response = response
            state.onFilled = nil
            return onFilled
        }
        onFilled?()
    }

    var response: HTTPResponse? { state.withLock { $0.response } }
}
