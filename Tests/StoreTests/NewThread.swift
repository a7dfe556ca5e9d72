import Glibc

/// Runs a body on a new thread, and waits until it has ended.
func runOnNewThread(_ body: @escaping () -> Void) {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(ThreadBody(body)).toOpaque()
    let result = pthread_create(
        &thread, nil,
        { context in
            Unmanaged<ThreadBody>.fromOpaque(context!).takeRetainedValue().run()
            return nil
        }, context)
    precondition(result == 0)
    pthread_join(thread, nil)
}

/// Carries a closure through the pointer that `pthread_create` passes on.
private final class ThreadBody {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
}
