internal import CLinux
internal import Glibc

/// The connection to a host. The name of the host is resolved outside the loop. Then its addresses are tried in
/// parallel, each a short time after the one before, and the first connected socket wins (RFC 8305, "Happy Eyeballs"). So
/// addresses that do not answer cost a fraction of a second, not a share of the deadline. The result is reported exactly
/// once, unless the connector is cancelled. Confined to its loop.
final class TCPConnector: EventHandler {
    struct ConnectFailure: Error, CustomStringConvertible {
        let description: String
    }

    typealias Resolve = (
        _ host: String, _ port: Int,
        _ answer: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) -> Void

    /// Upper bound of the time between the starts of two attempts, as RFC 8305 recommends.
    static let attemptDelayMilliseconds = 250

    private let host: String
    private let port: Int
    private let loop: EventLoop
    private let deadline: Instant
    private let resolve: Resolve
    /// `TCPOptions.addressProblem`.
    private let addressProblem: (@Sendable (SocketAddress) -> String?)?
    /// Receives the connected descriptor. Nil after the end.
    private var report: ((Result<Int32, ConnectFailure>) -> Void)?
    /// The addresses that were not tried yet.
    private var addresses: ArraySlice<SocketAddress> = []
    private var triedAddressCount = 0
    /// The attempts that are under way, the newest last.
    private var attempts: [ConnectAttempt] = []
    /// Time between the starts of two attempts. It is shorter if the deadline leaves too little time for all addresses.
    private var delayNanoseconds: Int64 = 0
    /// The reason why the last step failed, for the message.
    private var lastCause = ""
    /// Fires when the next address is tried, or at the deadline if none is left.
    private var timer: LoopTimer?

    /// Creates a connector. The receiver of the connected descriptor must close it.
    init(
        host: String, port: Int, on loop: EventLoop, deadline: Instant,
        addressProblem: (@Sendable (SocketAddress) -> String?)? = nil,
        resolve: @escaping Resolve = { Resolver.resolve(host: $0, port: $1, answer: $2) },
        report: @escaping (Result<Int32, ConnectFailure>) -> Void
    ) {
        self.host = host
        self.port = port
        self.loop = loop
        self.deadline = deadline
        self.resolve = resolve
        self.addressProblem = addressProblem
        self.report = report
        timer = LoopTimer(on: loop) { [weak self] in self?.handleTimeout() }
    }

    func start() {
        lastCause = "its name was not resolved in time"
        timer?.schedule(at: deadline)
        loop.addHandler(self)
        // The result comes on another thread.
        let connector = LoopOwned(self, on: loop)
        resolve(host, port) { result in
            connector.execute { $0.handleResolution(result) }
        }
    }

    func cancel() {
        loop.removeHandler(self)
        report = nil
        timer?.cancel()
        dropAttempts()
    }

    private func handleResolution(_ result: Result<[SocketAddress], ResolveError>) {
        guard report != nil else { return }
        switch result {
        case .success(let resolved):
            if let problem = resolved.lazy.compactMap({ [addressProblem] in addressProblem?($0) }).first {
                return finish(
                    with: .failure(
                        ConnectFailure(description: "must not connect to \(host):\(port): \(problem)")))
            }
            addresses = Self.interleaved(resolved)[...]
            let remaining = max(0, deadline.nanoseconds - Instant.now().nanoseconds)
            delayNanoseconds = min(
                Int64(Self.attemptDelayMilliseconds) * 1_000_000, remaining / Int64(resolved.count + 1))
            tryNextAddress()
        case .failure(let error):
            finish(with: .failure(ConnectFailure(description: error.description)))
        }
    }

    /// Returns the addresses so that the two families alternate. Each family keeps its order. Then a family that does
    /// not work, such as IPv6 without a route, delays the other one only once.
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let firstFamily = addresses.first?.family else { return [] }
        let preferred = addresses.filter { $0.family == firstFamily }
        let others = addresses.filter { $0.family != firstFamily }
        var order: [SocketAddress] = []
        for index in 0..<max(preferred.count, others.count) {
            if index < preferred.count { order.append(preferred[index]) }
            if index < others.count { order.append(others[index]) }
        }
        return order
    }

    // MARK: Attempts

    /// Begins to connect to the next address, or to a later one if that fails at once. If no attempt is left, the
    /// connector has failed.
    private func tryNextAddress() {
        var hasBegun = false
        while !hasBegun, let address = addresses.popFirst() {
            triedAddressCount += 1
            let attempt = ConnectAttempt(to: address, for: self)
            if let code = attempt.begin(on: loop) {
                noteFailure(of: attempt, code: code)
            } else {
                attempts.append(attempt)
                hasBegun = true
            }
        }
        if attempts.isEmpty { return fail() }
        let next = loop.now.nanoseconds + delayNanoseconds
        timer?.schedule(at: addresses.isEmpty ? deadline : min(deadline, Instant(nanoseconds: next)))
    }

    private func noteFailure(of attempt: ConnectAttempt, code: Int32) {
        lastCause = "\(attempt.host) says \(SystemError.text(for: code))"
    }

    /// Handles the end of an attempt. After a failure the next address is tried at once.
    ///
    /// - Parameter code: the `errno`; 0 if the socket is connected.
    fileprivate func handleEnd(of attempt: ConnectAttempt, code: Int32) {
        attempts.removeAll { $0 === attempt }
        if code == 0 {
            // The receiver of the result owns the descriptor from here.
            return finish(with: .success(attempt.takeDescriptor(from: loop)))
        }
        attempt.drop(from: loop)
        noteFailure(of: attempt, code: code)
        if !addresses.isEmpty || attempts.isEmpty { tryNextAddress() }
    }

    private func handleTimeout() {
        guard loop.now >= deadline else { return tryNextAddress() }
        if let newest = attempts.last { lastCause = "\(newest.host) does not answer" }
        fail()
    }

    func didBecomeReady(_ readiness: Readiness) {}

    func loopWillEnd() {
        finish(with: .failure(ConnectFailure(description: "event loop \(loop.name) has ended")))
    }

    private func fail() {
        let attempts = triedAddressCount > 1 ? " (last of \(triedAddressCount) addresses)" : ""
        finish(
            with: .failure(
                ConnectFailure(description: "cannot connect to \(host):\(port): \(lastCause)\(attempts)")))
    }

    private func finish(with result: Result<Int32, ConnectFailure>) {
        loop.removeHandler(self)
        timer?.cancel()
        dropAttempts()
        let report = report
        self.report = nil
        report?(result)
    }

    private func dropAttempts() {
        for attempt in attempts { attempt.drop(from: loop) }
        attempts.removeAll()
    }
}

/// One attempt of a connector, to one address. Confined to the connector's loop.
private final class ConnectAttempt: EventHandler {
    private let address: SocketAddress
    /// Holds the attempt, so this reference is weak.
    private weak var connector: TCPConnector?
    /// The socket that is connecting, or -1.
    private var descriptor: Int32 = -1

    init(to address: SocketAddress, for connector: TCPConnector) {
        self.address = address
        self.connector = connector
    }

    /// The address, for messages.
    var host: String { address.host }

    /// Begins to connect. Returns the `errno` if this failed at once.
    func begin(on loop: EventLoop) -> Int32? {
        descriptor = linux_tcp_socket(address.family)
        guard descriptor >= 0 else { return errno }
        let code = unsafe address.withPointer { unsafe connect(descriptor, $0, $1) }
        guard code == 0 || errno == EINPROGRESS else { return failure(code: errno, on: loop) }
        do {
            try loop.register(descriptor, for: [.writable], handler: self)
        } catch {
            return failure(code: error.code, on: loop)
        }
        return nil
    }

    private func failure(code: Int32, on loop: EventLoop) -> Int32 {
        drop(from: loop)
        return code
    }

    func didBecomeReady(_ readiness: Readiness) {
        connector?.handleEnd(of: self, code: linux_socket_error(descriptor))
    }

    /// Does nothing, because the connector drops its attempts when the loop ends.
    func loopWillEnd() {}

    /// Returns the connected descriptor, which the caller owns from here.
    func takeDescriptor(from loop: EventLoop) -> Int32 {
        loop.deregister(descriptor)
        defer { descriptor = -1 }
        return descriptor
    }

    /// Closes the socket.
    func drop(from loop: EventLoop) {
        guard descriptor >= 0 else { return }
        loop.deregister(descriptor)
        close(descriptor)
        descriptor = -1
    }
}
