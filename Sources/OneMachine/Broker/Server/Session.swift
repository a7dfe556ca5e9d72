internal import Lifecycle
internal import Telemetry

/// One client's connection. It cuts bytes into requests, dispatches them and sends the answers in order.
///
/// It handles one request at a time, as Kafka does, so that a client's requests act in their order. Only
/// Produce requests overlap, because the log orders them and they wait for the disk together. While a
/// request must wait, further bytes stay in the kernel's buffer, except for a small part. A malformed
/// request closes this connection only.
final class Session: TCPConnectionDelegate, IterationHook {
    private let connection: TCPConnection
    private unowned let node: BrokerNode
    private let limits: SessionLimits
    private var buffer = FrameBuffer()
    private var unansweredRequests = ResponseQueue()
    /// The faults that a test injects.
    private var faults: SessionFaults?

    /// Whether `iterationWillEnd` will be called.
    private var isIterationEndScheduled = false
    // The reasons to read no more, and their effect.
    /// Whether the client does not read its answers. Then no further request is begun.
    private var isOutputFull = false
    /// Whether the buffers of all connections together are too large.
    private var lacksMemory = false
    private var isPaused = false
    /// The part of `BrokerNode.unsentBytes` that belongs to this connection.
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

    /// Handles requests in the received bytes directly. The bytes that are left go to the buffer.
    func didReceive(_ bytes: UnsafeRawBufferPointer) {
        guard !isClosed else { return }
        lastActivity = connection.loop.now
        node.metrics.receivedBytes.add(bytes.count)
        let handled = buffer.count == 0 ? unsafe handleRequests(in: bytes) : 0
        guard !isClosed, handled < bytes.count else { return }
        let capacityBefore = buffer.capacity
        unsafe buffer.append(UnsafeRawBufferPointer(rebasing: bytes[handled...]))
        let growth = buffer.capacity - capacityBefore
        if growth > 0 {
            lacksMemory = !node.bufferBudget.reserve(growth, holding: heldBytes, by: self)
        }
        handleBufferedRequests()
        setReading()
    }

    func didBecomeWritable() {
        isOutputFull = false
        lastActivity = connection.loop.now
        setUnsent(bytes: connection.pendingByteCount)
        scheduleIterationEnd()
    }

    func didClose(reason: TCPCloseReason) {
        isClosed = true
        setUnsent(bytes: 0)
        node.bufferBudget.remove(self)
        node.bufferBudget.release(heldBytes)
        for exchange in unansweredRequests.removeAll() { exchange.abandon() }
        node.remove(self)
    }

    /// Called at the end of the loop's iteration, after `scheduleIterationEnd`.
    func iterationWillEnd() {
        isIterationEndScheduled = false
        guard !isClosed else { return }
        handleBufferedRequests()
        setReading()
    }

    /// Continues at the end of the loop's iteration, after other connections have released memory.
    func resume() {
        lacksMemory = false
        scheduleIterationEnd()
    }

    private func scheduleIterationEnd() {
        guard !isIterationEndScheduled, !isClosed else { return }
        isIterationEndScheduled = true
        connection.loop.callAtEndOfIteration(self)
    }

    // MARK: Requests

    /// The memory that counts against the budget.
    private var heldBytes: Int { buffer.capacity - FrameBuffer.restingByteCount }

    /// Handles the requests in the buffer.
    private func handleBufferedRequests() {
        guard buffer.count > 0 else { return }
        let handled = unsafe handleRequests(in: buffer.bytes)
        guard !isClosed else { return }
        buffer.consume(handled)
        if node.bufferBudget.isShort { releaseMemory() }
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

    /// Whether a request may begin: no other is unanswered, or it is a Produce among Produce requests.
    private func canHandle(_ request: UnsafeRawBufferPointer) -> Bool {
        guard !isOutputFull, !node.isDraining else { return false }
        guard !unansweredRequests.isEmpty else { return true }
        guard unansweredRequests.count < limits.producesInFlightMax, request.count >= 2 else { return false }
        // A request begins with its API key.
        let key = Int16(bigEndian: unsafe request.loadUnaligned(as: Int16.self))
        return key == APIKey.produce.rawValue && unansweredRequests.isOnlyProduces
    }

    /// Pauses or resumes reading. While requests wait, the session still reads up to the normal size of its buffer
    /// (`restingByteCount`), because otherwise it would not notice that the client of a waiting Fetch is gone.
    private func setReading() {
        guard !isClosed else { return }
        let isWaiting = !unansweredRequests.isEmpty || isOutputFull
        let shouldPause = lacksMemory || (isWaiting && buffer.count >= FrameBuffer.restingByteCount)
        guard shouldPause != isPaused else { return }
        isPaused = shouldPause
        if shouldPause { connection.pauseReading() } else { connection.resumeReading() }
    }

    private func releaseMemory() {
        guard buffer.count == 0, heldBytes > 0 else { return }
        let releasedBytes = heldBytes
        buffer.releaseMemory()
        node.bufferBudget.release(releasedBytes)
    }

    var hasPendingAppends: Bool { !unansweredRequests.isEmpty && unansweredRequests.isOnlyProduces }

    /// Closes the connection, because its bytes are not a request.
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
        unansweredRequests.append(exchange)
        return exchange
    }

    /// Encodes an answer in the node's scratch writer and sends it from there, with the answers that waited
    /// for it. The connection gathers small answers; large ones go to the kernel without another copy.
    func answer(_ exchange: RequestExchange, body: (inout WireWriter) -> Void) {
        guard !isClosed else { return }
        // The memory stays, because the next answer may be as large. Upkeep releases it.
        node.scratch.reset(keeping: .max)
        exchange.header.writeResponse(to: &node.scratch, body: body)
        if unansweredRequests.first === exchange {
            unansweredRequests.removeFirst()
            unsafe node.scratch.withBytes { unsafe send($0, of: exchange) }
            while let next = unansweredRequests.first, let heldAnswer = next.heldAnswer {
                unansweredRequests.removeFirst()
                unsafe heldAnswer.withUnsafeBytes { unsafe send($0, of: next) }
            }
        } else {
            exchange.holdAnswer(node.scratch.copied())
        }
        if buffer.count > 0 || isPaused { scheduleIterationEnd() }
    }

    /// Removes a request that gets no answer.
    func withdraw(_ exchange: RequestExchange) {
        guard !isClosed else { return }
        unansweredRequests.remove(exchange)
    }

    private func send(_ answer: UnsafeRawBufferPointer, of exchange: RequestExchange) {
        node.metrics.sentBytes.add(answer.count)
        node.metrics.observe(exchange, now: connection.loop.now)
        guard faults == nil else { return unsafe sendWithFault(answer, of: exchange) }
        if unsafe !connection.send(answer) { isOutputFull = true }
        setUnsent(bytes: connection.pendingByteCount)
    }

    /// Counts the bytes that wait for the client to read, in the node's total.
    private func setUnsent(bytes byteCount: Int) {
        node.unsentBytes += byteCount - countedUnsent
        countedUnsent = byteCount
    }

    private func sendWithFault(_ answer: UnsafeRawBufferPointer, of exchange: RequestExchange) {
        let connection = self.connection
        // A delayed answer is sent later, if the session is still open then.
        let openConnection: () -> TCPConnection? = { [weak self] in
            self?.isClosed == false ? connection : nil
        }
        let outcome = unsafe faults?.apply(
            to: exchange.header, answer: [UInt8](answer), connection: openConnection)
        if outcome == .closeConnection { close() }
    }

    // MARK: Time

    /// Closes a stalled connection, and releases the memory of a connection without traffic. Called by upkeep.
    func sweep(now: Instant) {
        // The session gets no event when the kernel takes bytes, unless the connection was full.
        if !isClosed { setUnsent(bytes: connection.pendingByteCount) }
        let hasIncompleteRequest = buffer.count > 0 && unansweredRequests.isEmpty
        let isStalled = hasIncompleteRequest || isOutputFull
        let quietSecondsMax = isStalled ? limits.stallSecondsMax : limits.idleSecondsMax
        let quietSeconds = now.seconds(since: lastActivity)
        let waitsForClient = isStalled || unansweredRequests.isEmpty
        if waitsForClient, quietSeconds > Double(quietSecondsMax) { return close() }
        if quietSeconds > limits.restSeconds { releaseMemory() }
    }
}
