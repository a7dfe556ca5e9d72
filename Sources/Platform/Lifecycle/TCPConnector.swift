internal import CLinux
internal import Glibc

/// One attempt to connect to a host. Its name is resolved outside the loop. Then its addresses are tried in
/// turn, each for an equal share of the remaining time. It reports exactly once, unless it is cancelled. It
/// is confined to its loop.
final class TCPConnector: EventHandler {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let host: String
    private let port: Int
    private let loop: EventLoop
    private let deadline: Instant
    private var report: ((Result<Int32, Failure>) -> Void)?
    private var addresses: ArraySlice<SocketAddress> = []
    private var tried = 0
    private var descriptor: Int32 = -1
    private var current = ""
    private var lastCause = ""
    private var timer: LoopTimer?

    /// Creates a connector. The receiver of the connected descriptor must close it.
    init(
        host: String, port: Int, on loop: EventLoop, deadline: Instant,
        report: @escaping (Result<Int32, Failure>) -> Void
    ) {
        self.host = host
        self.port = port
        self.loop = loop
        self.deadline = deadline
        self.report = report
        timer = LoopTimer(on: loop) { [weak self] in self?.timedOut() }
    }

    func start() {
        lastCause = "its name was not resolved in time"
        timer?.schedule(at: deadline)
        loop.expect(self)
        let own = LoopOwned(self, on: loop)
        Resolver.resolve(host: host, port: port) { result in
            own.execute { $0.resolved(result) }
        }
    }

    func cancel() {
        loop.unexpect(self)
        report = nil
        timer?.cancel()
        dropDescriptor()
    }

    private func resolved(_ result: Result<[SocketAddress], ResolveError>) {
        guard report != nil else { return }
        switch result {
        case .success(let found):
            addresses = found[...]
            tryNext()
        case .failure(let error):
            finish(.failure(Failure(description: error.description)))
        }
    }

    private func tryNext() {
        while let address = addresses.popFirst() {
            tried += 1
            current = address.host
            if begin(address) { return }
        }
        let many = tried > 1 ? " (last of \(tried) addresses)" : ""
        finish(.failure(Failure(description: "cannot connect to \(host):\(port): \(lastCause)\(many)")))
    }

    /// Returns false if this address failed at once.
    private func begin(_ address: SocketAddress) -> Bool {
        descriptor = linux_tcp_socket(address.family)
        guard descriptor >= 0 else { return failed(errno) }
        let code = unsafe address.withPointer { unsafe connect(descriptor, $0, $1) }
        guard code == 0 || errno == EINPROGRESS else { return failed(errno) }
        do {
            try loop.register(descriptor, for: [.writable], self)
        } catch {
            return failed(error.code)
        }
        let left = deadline.nanoseconds - Instant.now().nanoseconds
        let share = max(0, left) / Int64(addresses.count + 1)
        timer?.schedule(at: Instant(nanoseconds: Instant.now().nanoseconds + share))
        return true
    }

    private func failed(_ code: Int32) -> Bool {
        lastCause = "\(current) says \(SystemError.words(for: code))"
        dropDescriptor()
        return false
    }

    func ready(_ readiness: Readiness) {
        let code = linux_socket_error(descriptor)
        guard code == 0 else {
            _ = failed(code)
            return tryNext()
        }
        loop.deregister(descriptor)
        let connected = descriptor
        descriptor = -1
        finish(.success(connected))
    }

    func loopEnds() { finish(.failure(Failure(description: "event loop \(loop.name) has ended"))) }

    private func timedOut() {
        if descriptor >= 0 { lastCause = "\(current) does not answer" }
        dropDescriptor()
        if loop.now >= deadline { addresses = [] }
        tryNext()
    }

    private func finish(_ result: Result<Int32, Failure>) {
        loop.unexpect(self)
        timer?.cancel()
        dropDescriptor()
        let report = report
        self.report = nil
        report?(result)
    }

    private func dropDescriptor() {
        guard descriptor >= 0 else { return }
        loop.deregister(descriptor)
        close(descriptor)
        descriptor = -1
    }
}
