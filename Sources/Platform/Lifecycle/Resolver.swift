internal import Glibc
internal import Synchronization

/// Name lookups (DNS) outside the event loops. Each lookup has a short-lived thread, because `getaddrinfo`
/// blocks and cannot be cancelled. At most `lookupsMax` lookups run in a process. A further lookup fails at
/// once.
enum Resolver {
    static let lookupsMax = 32
    private static let openLookups = Atomic<Int>(0)

    private final class Lookup: Sendable {
        let host: String
        let port: Int
        let answer: @Sendable (Result<[SocketAddress], ResolveError>) -> Void

        init(
            host: String, port: Int,
            answer: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
        ) {
            self.host = host
            self.port = port
            self.answer = answer
        }
    }

    /// Calls `answer` once: on the caller's thread for a numeric host, otherwise on a new thread.
    static func resolve(
        host: String, port: Int, answer: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) {
        let numeric = SocketAddress.resolve(host: host, port: port, numericOnly: true)
        if case .success = numeric { return answer(numeric) }
        guard openLookups.add(1, ordering: .relaxed).newValue <= lookupsMax else {
            openLookups.subtract(1, ordering: .relaxed)
            return answer(.failure(ResolveError(host: host, code: EAI_AGAIN, system: 0)))
        }
        // The thread retains the lookup until it has called `answer`.
        let reference = unsafe Unmanaged.passRetained(Lookup(host: host, port: port, answer: answer))
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil,
            { argument in
                if let argument = unsafe argument { unsafe Resolver.runLookup(argument) }
                return nil
            }, reference.toOpaque())
        guard code == 0 else {
            unsafe reference.release()
            openLookups.subtract(1, ordering: .relaxed)
            return answer(.failure(ResolveError(host: host, code: EAI_SYSTEM, system: code)))
        }
        pthread_detach(thread)
    }

    private static func runLookup(_ reference: UnsafeMutableRawPointer) {
        let lookup = unsafe Unmanaged<Lookup>.fromOpaque(reference).takeRetainedValue()
        let result = SocketAddress.resolve(host: lookup.host, port: lookup.port)
        openLookups.subtract(1, ordering: .relaxed)
        lookup.answer(result)
    }
}
