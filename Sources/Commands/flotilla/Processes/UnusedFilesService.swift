internal import Lifecycle
internal import Store

/// A service that closes state files that were not used for a while, to bound the open file descriptors.
final class UnusedFilesService: Service {
    let name = "unused-files"
    private let closeTask = StartedParts<Task<Void, Never>>()

    func start(_ context: ServiceContext) async throws {
        closeTask.set(
            Task {
                let pause = Duration.milliseconds(UnusedFiles.intervalMilliseconds)
                // A cancelled task's sleep throws.
                while (try? await Task.sleep(for: pause)) != nil { UnusedFiles.shared.closeUnused() }
            })
    }

    func stop(by deadline: Instant) async {
        let closing = closeTask.take()
        closing?.cancel()
        await closing?.value
    }
}
