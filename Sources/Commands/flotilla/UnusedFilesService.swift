internal import Lifecycle
internal import Store

/// The service that closes state files without use.
final class UnusedFilesService: Service {
    let name = "unused-files"
    private let closing = Started<Task<Void, Never>>()

    func start(_ context: ServiceContext) async throws {
        closing.put(
            Task {
                let pause = Duration.milliseconds(UnusedFiles.intervalMilliseconds)
                while (try? await Task.sleep(for: pause)) != nil { UnusedFiles.shared.close() }
            })
    }

    func stop(by deadline: Instant) async {
        let closing = closing.take()
        closing?.cancel()
        await closing?.value
    }
}
