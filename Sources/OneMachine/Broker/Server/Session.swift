internal import Lifecycle
internal import Telemetry

/// One client's connection. It cuts bytes into requests, dispatches them and sends the answers in order.
///
/// It executes one request at a time, as Kafka does, so that a client's requests act in their order. Only
/// appends overlap, because the log orders them and they wait for the disk together. Bytes that it cannot
/// take stay in the kernel's buffer. A malformed request closes this connection only.
final class Session: TCPConnectionDelegate, IterationHook {
    private let connection: TCPConnection
    private unowned let node: BrokerNode
    private let limits: SessionLimits
    private var buffer = FrameBuffer()
    private var pendingResponses = ResponseQueue()
    private var faults: SessionFaults?

    private var isTurnEndScheduled = false
    /// Whether the peer does not read. Then no further request is begun.
    private var isFull = false
    private var isPaused = false
    private var lacksMemory = false
    /// The part of the node's count that belongs to this connection.
    private var countedUnsent = 0
    private(set) var isClosed = false
    private var lastActivity: Instant
    private(set) lazy var peerHost = connection.peer?.host ?? "unknown"

    init(connection: TCPConnection, node: BrokerNode) {
        self.connection = connection
        self.node = node
        self.limits = node.settings.limits
        self.lastActivity = connection.loop.now
        self.faults = node.settings.responseFaults.map { SessionFaults(decide: $0) }
    }

    // MARK: The connection's calls

    func didReceive(_ bytes: UnsafeRawBufferPointer) {
        guard !isClosed else { return }
        lastActivity = connection.loop.now
        node.metrics.receivedBytes.add(bytes.count)
        let handled = buffer.count == 0 ? unsafe handleRequests(in: bytes) : 0
        guard !isClosed, handled < bytes.count else { return }
        let before = buffer.capacity
        unsafe buffer.append(UnsafeRawBufferPointer(rebasing: bytes[handled...]))
        let grown = buffer.capacity - before
        if grown > 0 {
            lacksMemory = !node.budget.reserve(grown, holding: heldBytes, by: self)
        }
        handleKept()
        setReading()
    }

    func didBecomeWritable() {
        isFull = false
        lastActivity = connection.loop.now
        setUnsent(bytes: connection.pendingByteCount)
        scheduleTurnEnd()
    }

    func didClose(reason: TCPCloseReason) {
        isClosed = true
        setUnsent(bytes: 0)
        node.budget.remove(self)
        node.budget.release(heldBytes)
        for exchange in pendingResponses.removeAll() { exchange.abandon() }
        node.remove(self)
    }

    func iterationWillEnd() {
        isTurnEndScheduled = false
        guard !isClosed else { return }
        handleKept()
        setReading()
    }

    /// Continues at the end of the turn, after the condition that this connection waited for has changed.
    func resume() {
        lacksMemory = false
        scheduleTurnEnd()
    }

    private func scheduleTurnEnd() {
        guard !isTurnEndScheduled, !isClosed else { return }
        isTurnEndScheduled = true
        connection.loop.callAtEndOfIteration(self)
    }

    // MARK: Requests

    private var heldBytes: Int { buffer.capacity - FrameBuffer.restingBytes }

    private func handleKept() {
        guard buffer.count > 0 else { return }
        let handled = unsafe handleRequests(in: buffer.bytes)
        guard !isClosed else { return }
        buffer.consume(handled)
        if node.budget.isShort { releaseMemory() }
    }

    /// Handles whole requests from the front until one must wait. Returns the number of handled bytes.
    private func handleRequests(in bytes: UnsafeRawBufferPointer) -> Int {
        var handled = 0
        while !isClosed {
            switch unsafe FrameBuffer.next(in: bytes, from: handled, bytesMax: limits.requestBytesMax) {
            case .frame(let range):
                let request = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
                guard unsafe canHandle(request) else { return handled }
                unsafe node.dispatch(request, from: self)
                handled = range.upperBound
            case .incomplete:
                return handled
            case .badLength(let length):
                refuse(WireError.badRequestLength(length))
            }
        }
        return handled
    }

    private func canHandle(_ request: UnsafeRawBufferPointer) -> Bool {
        guard !isFull, !node.isDraining else { return false }
        guard !pendingResponses.isEmpty else { return true }
        guard pendingResponses.count < limits.producesInFlightMax, request.count >= 2 else { return false }
        let key = Int16(bigEndian: unsafe request.loadUnaligned(as: Int16.self))
        return key == APIKey.produce.rawValue && pendingResponses.isOnlyProduces
    }

    /// Reads while requests wait, up to a resting buffer. Otherwise the session would not notice that the
    /// client of a parked Fetch is gone.
    private func setReading() {
        guard !isClosed else { return }
        let waits = !pendingResponses.isEmpty || isFull
        let pause = lacksMemory || (waits && buffer.count >= FrameBuffer.restingBytes)
        guard pause != isPaused else { return }
        isPaused = pause
        if pause { connection.pauseReading() } else { connection.resumeReading() }
    }

    private func releaseMemory() {
        guard buffer.count == 0, heldBytes > 0 else { return }
        let held = heldBytes
        buffer.releaseMemory()
        node.budget.release(held)
    }

    var hasPendingAppends: Bool { !pendingResponses.isEmpty && pendingResponses.isOnlyProduces }

    func refuse(_ error: WireError) {
        node.log.debug("closing a connection that sent a malformed request", .field("reason", error))
        node.metrics.malformedRequests.add()
        close()
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        connection.close()
    }

    // MARK: Answers

    func beginExchange(for header: RequestHeader) -> RequestExchange {
        let exchange = RequestExchange(header: header, session: self, arrival: connection.loop.now)
        pendingResponses.append(exchange)
        return exchange
    }

    /// Encodes an answer in the node's scratch writer and sends it from there. The connection gathers
    /// small answers; large ones go to the kernel without another copy.
    func answer(_ exchange: RequestExchange, body: (inout WireWriter) -> Void) {
        guard !isClosed else { return }
        // The memory stays, because the next answer may be as large. Upkeep releases it.
        node.scratch.reset(keeping: .max)
        exchange.header.writeResponse(to: &node.scratch, body: body)
        if pendingResponses.first === exchange {
            pendingResponses.removeFirst()
            unsafe node.scratch.withBytes { unsafe send($0, of: exchange) }
            while let next = pendingResponses.first, let waiting = next.waiting {
                pendingResponses.removeFirst()
                unsafe waiting.withUnsafeBytes { unsafe send($0, of: next) }
            }
        } else {
            exchange.holdAnswer(node.scratch.copied())
        }
        if buffer.count > 0 || isPaused { scheduleTurnEnd() }
    }

    func withdraw(_ exchange: RequestExchange) {
        guard !isClosed else { return }
        pendingResponses.remove(exchange)
    }

    private func send(_ answer: UnsafeRawBufferPointer, of exchange: RequestExchange) {
        node.metrics.sentBytes.add(answer.count)
        node.metrics.observe(exchange, now: connection.loop.now)
        guard faults == nil else { return unsafe sendWithFault(answer, of: exchange) }
        if unsafe !connection.send(answer) { isFull = true }
        setUnsent(bytes: connection.pendingByteCount)
    }

    private func setUnsent(bytes: Int) {
        node.unsentBytes += bytes - countedUnsent
        countedUnsent = bytes
    }

    private func sendWithFault(_ answer: UnsafeRawBufferPointer, of exchange: RequestExchange) {
        let connection = self.connection
        let outcome = unsafe faults?.apply(to: exchange.header, answer: [UInt8](answer)) { [weak self] in
            self?.isClosed == false ? connection : nil
        }
        if outcome == .closeConnection { close() }
    }

    // MARK: Time

    /// Closes a stalled connection and releases the memory of a quiet one. Called by upkeep.
    func sweep(now: Instant) {
        // The session gets no event when the kernel takes bytes, unless the connection was full.
        if !isClosed { setUnsent(bytes: connection.pendingByteCount) }
        let isStuck = buffer.count > 0 && pendingResponses.isEmpty || isFull
        let limit = isStuck ? limits.stallSecondsMax : limits.idleSecondsMax
        let isQuiet = now.seconds(since: lastActivity)
        if isStuck || pendingResponses.isEmpty, isQuiet > Double(limit) { return close() }
        if isQuiet > limits.restSeconds { releaseMemory() }
    }
}
