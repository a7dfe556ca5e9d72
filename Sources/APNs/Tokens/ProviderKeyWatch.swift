package import Lifecycle
internal import Synchronization
internal import Telemetry

/// Looks at the key files every few seconds, so that a key is rotated by putting its file there.
package final class ProviderKeyWatch: Service {
    package let name = "provider-keys"
    private let tokens: ProviderTokens
    private let intervalMilliseconds: Int
    private let task = Mutex<Task<Void, Never>?>(nil)

    package init(_ tokens: ProviderTokens, intervalMilliseconds: Int = 10_000) {
        self.tokens = tokens
        self.intervalMilliseconds = intervalMilliseconds
    }

    /// Whoever starts the process reads the keys first, and refuses to start with what is wrong then.
    package func start(_ context: ServiceContext) async throws {
        let tokens = tokens
        let pause = Duration.milliseconds(intervalMilliseconds)
        let task = Task.detached {
            while (try? await Task.sleep(for: pause)) != nil {
                for problem in tokens.reload() {
                    context.log.error(
                        "provider key cannot be used; correct its file, the key before stays in use",
                        .field("problem", problem.description))
                }
            }
        }
        self.task.withLock { $0 = task }
    }

    package func stop(by deadline: Instant) async { task.withLock { $0?.cancel() } }
}
