internal import CLinux
internal import Glibc

/// One attempt to connect to a host. Its name is resolved outside the loop. Then its addresses are tried in
/// turn, each for an equal share of the remaining time. It reports exactly once, unless it is cancelled. It
/// is confined to its loop.
final class TCPConnector: EventHandler {
    struct ConnectFailure: Error, CustomStringConvertible {
        let description: String
    }

    private let host: String
    private let port: Int
    private let loop: EventLoop
    private let deadline: Instant
    private var report: ((Result<Int32, ConnectFailure>) -> Void)?
    private var addresses: ArraySlice<SocketAddress> = []
    private var triedAddresses = 0
    private var descriptor: Int32 = -1
    private var currentHost = ""
    private var lastCause = ""
    private var timer: LoopTimer?

    /// Creates a connector. The receiver of the connected descriptor must close it.
    init(
        host: String, port: Int, on loop: EventLoop, deadline: Instant,
        report: @escaping (Result<Int32, ConnectFailure>) -> Void
    ) {
        self.host = host
        self.port = port
        self.loop = loop
        self.deadline = deadline
        self.report = report
        timer = LoopTimer(on: loop) { [weak self] in self?.handleTimeout() }
    }

    func start() {
        lastCause = "its name was not resolved in time"
        timer?.schedule(at: deadline)
        loop.addHandler(self)
        let own = LoopOwned(self, on: loop)
        Resolver.resolve(host: host, port: port) { result in
            own.execute { $0.handleResolution(result) }
        }
    }

    func cancel() {
        loop.removeHandler(self)
        report = nil
        timer?.cancel()
        dropDescriptor()
    }

    private func handleResolution(_ result: Result<[SocketAddress], ResolveError>) {
        guard report != nil else { return }
        switch result {
        case .success(let found):
            addresses = found[...]
            tryNextAddress()
        case .failure(let error):
            finish(with: .failure(ConnectFailure(description: error.description)))
        }
    }

    private func tryNextAddress() {
        while let address = addresses.popFirst() {
            triedAddresses += 1
            currentHost = address.host
            if tryConnecting(to: address) { return }
        }
        let many = triedAddresses > 1 ? " (last of \(triedAddresses) addresses)" : ""
        finish(
            with: .failure(
                ConnectFailure(description: "cannot connect to \(host):\(port): \(lastCause)\(many)")))
    }

    /// Returns false if this address failed at once.
    private func tryConnecting(to address: SocketAddress) -> Bool {
        descriptor = linux_tcp_socket(address.family)
        guard descriptor >= 0 else { return recordFailure(code: errno) }
        let code = unsafe address.withPointer { unsafe connect(descriptor, $0, $1) }
        guard code == 0 || errno == EINPROGRESS else { return recordFailure(code: errno) }
        do {
            try loop.register(descriptor, for: [.writable], handler: self)
        } catch {
            return recordFailure(code: error.code)
        }
        let left = deadline.nanoseconds - Instant.now().nanoseconds
        let share = max(0, left) / Int64(addresses.count + 1)
        timer?.schedule(at: Instant(nanoseconds: Instant.now().nanoseconds + share))
        return true
    }

    private func recordFailure(code: Int32) -> Bool {
        lastCause = "\(currentHost) says \(SystemError.text(for: code))"
        dropDescriptor()
        return false
    }

    func didBecomeReady(_ readiness: Readiness) {
        let code = linux_socket_error(descriptor)
        guard code == 0 else {
            _ = recordFailure(code: code)
            return tryNextAddress()
        }
        loop.deregister(descriptor)
        let connected = descriptor
        descriptor = -1
        finish(with: .success(connected))
    }

    func loopWillEnd() {
        finish(with: .failure(ConnectFailure(description: "event loop \(loop.name) has ended")))
    }

    private func handleTimeout() {
        if descriptor >= 0 { lastCause = "\(currentHost) does not answer" }
        dropDescriptor()
        if loop.now >= deadline { addresses = [] }
        tryNextAddress()
    }

    private func finish(with result: Result<Int32, ConnectFailure>) {
        loop.removeHandler(self)
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
