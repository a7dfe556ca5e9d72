internal import Foundation
internal import Synchronization

/// Runs a call that must not block, on a separate thread, and returns its result. Throws `ConditionTimedOut` if the
/// call blocks.
///
/// The limit of a test (`.timeLimit`) also counts the time for which the test waits for a thread of the pool. Under
/// load this can be minutes. This function counts time as `eventually` does.
///
/// - Parameter description: The end of the call in words, for the error.
package func promptResult<Value: Sendable>(
    _ description: String, seconds: Double = 30, of call: @escaping @Sendable () throws -> Value
) async throws -> Value {
    let result = PendingCall<Value>()
    Thread.detachNewThread { result.set(Result(catching: call)) }
    try await eventually(description, seconds: seconds) { result.value != nil }
    return try result.value!.get()
}

/// The result of a call on another thread; nil until the call has ended.
private final class PendingCall<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    var value: Result<Value, any Error>? { result.withLock { $0 } }
    func set(_ newResult: Result<Value, any Error>) { result.withLock { $0 = newResult } }
}
