import Glibc

/// Runs a body on a new thread and waits for it.
struct Thread {
    private final class Body {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }

    private let body: Body

    init(_ body: @escaping () -> Void) { self.body = Body(body) }

    func run() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(body).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { context in
                Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, context)
        precondition(result == 0)
        pthread_join(thread, nil)
    }
}
