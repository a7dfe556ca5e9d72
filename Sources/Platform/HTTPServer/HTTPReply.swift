internal import Lifecycle

/// The duty to answer one request, from any thread. If the last reference is dropped without an answer, the
/// peer gets 500.
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

/// The slot in which an answer waits for the server's thread. It is filled once. The action then runs on the
/// filling thread, outside the lock.
final class ReplySlot: Sendable {
    private struct SlotState {
        var response: HTTPResponse?
        var onFilled: (@Sendable () -> Void)?
    }

    private let state: TracedLock<SlotState>

    init(onFilled: @escaping @Sendable () -> Void) { state = TracedLock(SlotState(onFilled: onFilled)) }

    func fill(with response: HTTPResponse) {
        let action = state.withLock { state in
            defer { state.onFilled = nil }
            if state.onFilled != nil { state.response = response }
            return state.onFilled
        }
        action?()
    }

    var response: HTTPResponse? { state.withLock { $0.response } }
}
