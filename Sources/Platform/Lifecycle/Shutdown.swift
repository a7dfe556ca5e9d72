internal import Synchronization

/// A request to stop the process, which starts as not requested. The first request counts, from a signal or
/// from a service that failed. Later requests have no effect.
package final class Shutdown: Sendable {
    package enum ShutdownReason: Sendable {
        case signal(String)
        case failure(any Error)
    }

    private struct RequestState {
        var reason: ShutdownReason?
        var waiters: [CheckedContinuation<ShutdownReason, Never>] = []
    }

    private let state = Mutex(RequestState())

    package init() {}

    package func request(because reason: ShutdownReason) {
        let waiters = state.withLock { state -> [CheckedContinuation<ShutdownReason, Never>] in
            guard state.reason == nil else { return [] }
            state.reason = reason
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: reason) }
    }

    package var isRequested: Bool { state.withLock { $0.reason != nil } }

    /// Waits until a stop is requested. Returns its reason.
    package func wait() async -> ShutdownReason {
        await withCheckedContinuation { continuation in
            let reason = state.withLock { state -> ShutdownReason? in
                if state.reason == nil { state.waiters.append(continuation) }
                return state.reason
            }
            if let reason { continuation.resume(returning: reason) }
        }
    }
}
