internal import CLinux
internal import Glibc

/// One attempt to connect to a host. The name of the host is resolved outside the loop. Then its addresses
/// are tried in turn, each for an equal share of the remaining time. The result is reported exactly once,
/// unless the attempt is cancelled. Confined to its loop.
final class TCPConnector: EventHandler {
    struct ConnectFailure: Error, CustomStringConvertible {
        let description: String
    }

    private let host: String
    private let port: Int
    private let loop: EventLoop
    private let deadline: Instant
    /// Receives the connected descriptor. Nil after the end.
    private var report: ((Result<Int32, ConnectFailure>) -> Void)?
    /// The addresses that were not tried yet.
    private var addresses: ArraySlice<SocketAddress> = []
    private var triedAddressCount = 0
    /// The socket that is connecting, or -1.
    private var descriptor: Int32 = -1
    /// The address that is tried, for messages.
    private var currentHost = ""
    /// The reason why the last step failed, for the message.
    private var lastCause = ""
    /// Fires at the end of the current address's share of the time, or at the deadline while the name is
    /// resolved.
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
        // The result comes on another thread.
        let connector = LoopOwned(self, on: loop)
        Resolver.resolve(host: host, port: port) { result in
            connector.execute { $0.handleResolution(result) }
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
        case .success(let resolved):
            addresses = resolved[...]
            tryNextAddress()
        case .failure(let error):
            finish(with: .failure(ConnectFailure(description: error.description)))
        }
    }

    private func tryNextAddress() {
        while let address = addresses.popFirst() {
            triedAddressCount += 1
            currentHost = address.host
            if tryConnecting(to: address) { return }
        }
        let attempts = triedAddressCount > 1 ? " (last of \(triedAddressCount) addresses)" : ""
        finish(
            with: .failure(
                ConnectFailure(description: "cannot connect to \(host):\(port): \(lastCause)\(attempts)")))
    }

    /// Begins to connect. Returns false if this address failed at once.
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
        let remainingNanoseconds = deadline.nanoseconds - Instant.now().nanoseconds
        let shareNanoseconds = max(0, remainingNanoseconds) / Int64(addresses.count + 1)
        timer?.schedule(at: Instant(nanoseconds: Instant.now().nanoseconds + shareNanoseconds))
        return true
    }

    /// Notes why the current address failed. Returns false, for `tryConnecting`.
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
        // The receiver of the result owns the descriptor from here.
        let connectedDescriptor = descriptor
        descriptor = -1
        finish(with: .success(connectedDescriptor))
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
