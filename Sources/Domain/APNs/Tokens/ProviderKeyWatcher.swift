package import Lifecycle
internal import Synchronization
internal import Telemetry

/// A service that checks the key files every few seconds, so that an operator can rotate a key by replacing its
/// file.
package final class ProviderKeyWatcher: Service {
    package let name = "provider-keys"
    private let tokens: ProviderTokens
    private let intervalMilliseconds: Int
    private let task = Mutex<Task<Void, Never>?>(nil)

    package init(tokens: ProviderTokens, intervalMilliseconds: Int = 10_000) {
        self.tokens = tokens
        self.intervalMilliseconds = intervalMilliseconds
    }

    /// Starts the checks. The first comes after an interval, because the process has already read the keys and
    /// refused to start if one was unusable.
    package func start(_ context: ServiceContext) async throws {
        let tokens = tokens
        let pause = Duration.milliseconds(intervalMilliseconds)
        let task = Task.detached {
            while (try? await Task.sleep(for: pause)) != nil {
                for problem in tokens.reload() {
                    context.log.error(
                        "provider key cannot be used; correct its file; the previous key stays in use",
                        .field("problem", problem.description))
                }
            }
        }
        self.task.withLock { $0 = task }
    }

    package func stop(by deadline: Instant) async { task.withLock { $0?.cancel() } }
}
