internal import CLinux
internal import CMicroHTTPD
internal import Glibc
package import Lifecycle
package import Telemetry

/// An HTTP/1.1 server on libmicrohttpd, with one listening socket. The gateway uses it, and every process for
/// its endpoints for operators.
///
/// It ends each connection that breaks the rules or exceeds the limits as early as possible. It never reads
/// the bytes after an ambiguous request. Handlers must not block the server's threads: an immediate handler
/// returns at once, and a deferred handler replies later.
@safe package final class HTTPServer: Sendable {
    /// The bound address. If port 0 was requested, it has the port that the system chose.
    package let address: SocketAddress
    package var port: Int { address.port }
    package var connectionCount: Int { state.connectionCount }

    private let state: HTTPServerState
    private let deadlineWatcher: DeadlineWatcher
    /// The library's server (`MHD_Daemon`). Nil after the first call of `stop`.
    private let daemon: TracedLock<OpaquePointer?>
    private let listening: Listening

    /// The way in which connections arrive.
    fileprivate enum Listening {
        /// The daemon accepts connections at this descriptor, and closes it.
        case daemon(descriptor: Int32)
        /// Connections arrive over TLS, and are added to the daemon.
        case terminator(TLSTerminator)
    }

    /// Binds and starts to serve. An empty host or `*` means every address.
    ///
    /// - Parameters:
    ///   - name: The listener's name in metrics.
    ///   - tls: The certificate, or nil for a server without TLS.
    ///   - onAnswer: Receives a note about each answer, on the server's threads. It must not block.
    package init(
        name: String, host: String, port: Int, limits: HTTPLimits = HTTPLimits(),
        tls: HTTPServerTLS? = nil, routes: HTTPRoutes, metrics: Metrics? = nil,
        onAnswer: (@Sendable (HTTPAnswerNote) -> Void)? = nil
    ) throws {
        let httpMetrics = metrics.map { HTTPMetrics(metrics: $0, listener: name) }
        state = HTTPServerState(
            routes: routes, limits: limits, metrics: httpMetrics, onAnswer: onAnswer)
        httpMetrics?.registerGauges(
            connections: { [weak state] in state?.connectionCount ?? 0 },
            bodyBytes: { [weak state] in state?.bodyBudget.reservedBytes ?? 0 },
            answerBytes: { [weak state] in state?.answerBudget.reservedBytes ?? 0 })
        // The terminator's closure has this lock and not `self`, which is not complete yet.
        let daemonLock = unsafe TracedLock<OpaquePointer?>(nil)
        unsafe daemon = daemonLock
        let listeningDescriptor: Int32
        if let tls {
            listeningDescriptor = -1
            let terminator = try TLSTerminator(
                name: name, host: host, port: port, limits: limits, tls: tls
            ) { descriptor, peer in unsafe Self.add(descriptor, of: peer, to: daemonLock) }
            listening = .terminator(terminator)
            address = terminator.listener.address
        } else {
            (listeningDescriptor, address) = try TCPListener.bind(host: host, port: port)
            listening = .daemon(descriptor: listeningDescriptor)
        }
        do {
            deadlineWatcher = try DeadlineWatcher(state: state)
        } catch {
            listening.abandon()
            throw error
        }
        do {
            let startedDaemon = unsafe try Self.startDaemon(
                listeningAt: listeningDescriptor, isIPv6: address.isIPv6, limits: limits, state: state)
            unsafe daemon.withLock { unsafe $0 = startedDaemon }
        } catch {
            listening.abandon()
            deadlineWatcher.stop()
            throw error
        }
    }

    /// Starts the daemon's threads. They use the state, and `stopDaemon` releases it after they have ended.
    private static func startDaemon(
        listeningAt descriptor: Int32, isIPv6: Bool, limits: HTTPLimits, state: HTTPServerState
    ) throws(SystemError) -> OpaquePointer {
        let context = unsafe Unmanaged.passRetained(state).toOpaque()
        var settings = unsafe mhd_settings(
            listen_socket: descriptor, is_ipv6: isIPv6 ? 1 : 0,
            threads: UInt32(limits.threads), connections_max: UInt32(limits.connectionsMax),
            connections_per_peer_max: UInt32(limits.connectionsPerPeerMax),
            connection_memory_bytes: limits.connectionMemoryBytes, handle: handleRequest,
            completed: requestCompleted, notify: connectionChanged, uri: requestLineRead, context: context)
        guard let daemon = unsafe mhd_start(&settings) else {
            let code = errno
            unsafe Unmanaged<HTTPServerState>.fromOpaque(context).release()
            throw SystemError(action: "start the threads of an HTTP listener", code: code)
        }
        return unsafe daemon
    }

    /// Gives the daemon a connection that arrived over TLS. A connection that comes before the daemon or after its stop is
    /// closed.
    private static func add(
        _ descriptor: Int32, of peer: SocketAddress, to daemon: TracedLock<OpaquePointer?>
    ) {
        unsafe daemon.withLock { daemon in
            guard let daemon = unsafe daemon else {
                close(descriptor)
                return
            }
            _ = unsafe peer.withBytes { bytes in
                unsafe mhd_add(daemon, descriptor, bytes.baseAddress, UInt32(bytes.count))
            }
        }
    }

    deinit { stop(by: .now()) }

    /// Frees the port, lets requests in flight finish until the deadline, answers 503 to the rest, and
    /// closes. Blocks, so a handler must not call it.
    package func stop(by deadline: Instant) {
        guard let daemon = unsafe beginStopping() else { return }
        while mustWait(until: deadline) { usleep(UInt32(Self.pollMilliseconds * 1000)) }
        unsafe stopDaemon(daemon)
    }

    /// Stops in the same way without blocking the task's thread.
    package func stop(by deadline: Instant) async {
        guard let daemon = unsafe beginStopping() else { return }
        while mustWait(until: deadline) { try? await Task.sleep(for: .milliseconds(Self.pollMilliseconds)) }
        unsafe stopDaemon(daemon)
    }

    /// Returns the daemon to the first caller, and nil to later ones.
    private func beginStopping() -> OpaquePointer? {
        let currentDaemon = unsafe daemon.withLock { daemon in
            defer { unsafe daemon = nil }
            return unsafe daemon
        }
        guard let daemon = unsafe currentDaemon else { return nil }
        state.beginStopping()
        stopListening()
        return unsafe daemon
    }

    /// Stops listening. The library's function for this races with its thread and can abort the process.
    /// Instead, an eventfd takes the number of the listening descriptor, and accepts no connections. The
    /// daemon closes it later.
    private func stopListening() {
        let listeningDescriptor: Int32
        switch listening {
        case .terminator(let terminator): return terminator.stopListening()
        case .daemon(let descriptor): listeningDescriptor = descriptor
        }
        let placeholder = eventfd(0, Int32(EFD_CLOEXEC))
        guard placeholder >= 0 else { return }
        dup2(placeholder, listeningDescriptor)
        close(placeholder)
    }

    /// Returns whether the stop must still wait. Until the deadline it waits for all requests. After that, this
    /// function answers every waiting request with 503, and the stop waits until no connection is suspended, because
    /// the library aborts a process that stops it with a suspended connection.
    private func mustWait(until deadline: Instant) -> Bool {
        let now = Instant.now()
        if now < deadline { return !state.isIdle }
        state.answerSuspendedConnections()
        if state.hasSuspendedConnections { return true }
        let areFinalAnswersOverdue = now >= deadline.advanced(byMilliseconds: Self.finalAnswersMilliseconds)
        return !areFinalAnswersOverdue && !state.isIdle
    }

    private func stopDaemon(_ daemon: OpaquePointer) {
        unsafe MHD_stop_daemon(daemon)
        if case .terminator(let terminator) = listening {
            // The last answers still have to pass through TLS.
            let deadline = Instant.now().advanced(byMilliseconds: Self.finalAnswersMilliseconds)
            while !terminator.isIdle, Instant.now() < deadline {
                usleep(UInt32(Self.pollMilliseconds * 1000))
            }
            terminator.end()
        }
        deadlineWatcher.stop()
        unsafe Unmanaged.passUnretained(state).release()
    }

    private static let pollMilliseconds = 2
    /// The time for the last 503 answers to leave the machine.
    private static let finalAnswersMilliseconds = 250
}

extension HTTPServer.Listening {
    /// Closes the port of a server whose start has failed.
    fileprivate func abandon() {
        switch self {
        case .daemon(let descriptor): close(descriptor)
        case .terminator(let terminator):
            terminator.stopListening()
            terminator.end()
        }
    }
}

// MARK: Callbacks of libmicrohttpd

/// Returns the object of a connection, which `connectionChanged` has stored as the connection's context.
private func connection(of handle: OpaquePointer) -> HTTPConnection? {
    unsafe mhd_context(handle).map {
        unsafe Unmanaged<HTTPConnection>.fromOpaque($0).takeUnretainedValue()
    }
}

/// Makes the object of a connection at its start, and releases it at its end. The library calls this exactly
/// once for each. `slot` is the connection's context.
private func connectionChanged(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ change: MHD_ConnectionNotificationCode
) {
    guard let context = unsafe context, let handle = unsafe handle, let slot = unsafe slot else { return }
    let state = unsafe Unmanaged<HTTPServerState>.fromOpaque(context).takeUnretainedValue()
    if mhd_is_start(change) != 0 {
        let connection = unsafe HTTPConnection(
            serverState: state, peer: peerAddress(of: handle), descriptor: mhd_descriptor(handle))
        state.add(connection)
        unsafe slot.pointee = Unmanaged.passRetained(connection).toOpaque()
    } else if let reference = unsafe slot.pointee {
        let connection = unsafe Unmanaged<HTTPConnection>.fromOpaque(reference).takeRetainedValue()
        unsafe slot.pointee = nil
        connection.handleClose()
        state.remove(connection)
    }
}

/// Called when the request line has arrived. `uri` is the target as sent.
private func requestLineRead(
    _ context: UnsafeMutableRawPointer?, _ uri: UnsafePointer<CChar>?, _ handle: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    if let uri = unsafe uri, let handle = unsafe handle {
        let target = unsafe Array(UnsafeRawBufferPointer(start: uri, count: strlen(uri)))
        unsafe connection(of: handle)?.beginRequest(target: target)
    }
    return nil
}

/// The library's access handler. Returns `mhd_no` if the connection must end.
private func handleRequest(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ part: UnsafePointer<CChar>?,
    _ partBytes: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let handle = unsafe handle, let url = unsafe url, let method = unsafe method,
        let version = unsafe version, let partBytes = unsafe partBytes
    else { return mhd_no }
    let call = unsafe AccessHandlerCall(
        connection: MHDConnection(handle: handle), url: url, method: method, version: version, part: part,
        partBytes: partBytes)
    let isHandled = unsafe connection(of: handle)?.handle(call) ?? false
    return isHandled ? mhd_yes : mhd_no
}

/// Called when a request has ended, for any reason.
private func requestCompleted(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
    _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
    if let handle = unsafe handle { unsafe connection(of: handle)?.finishRequest() }
}

private func peerAddress(of handle: OpaquePointer) -> String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    unsafe mhd_peer(handle, &text)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
